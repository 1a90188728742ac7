// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where a plan may ask for lines ahead of their use or store past the caches. They change no result; a choice that could have
// no effect is refused, so that no two legal plans are the same program for that reason. Leaves whether it pays to measurements.
#pragma once

#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// Rules that `prefetch`, `prefetch_distance` and `streaming_store` break. `problem` is the core problem of the plan.
std::vector<std::string> brokenHints(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
