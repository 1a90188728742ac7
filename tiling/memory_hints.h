// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where a plan may ask for lines ahead of their use or store past the caches. They change no result; a choice that could have
// no effect is refused, so that no two legal plans are the same program for that reason; and where the planner stores past the caches
// unasked. Leaves the rest of what pays to measurements.
#pragma once

#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "tiling/planner.h"

namespace cubejit {

/// Rules that `prefetch`, `prefetch_distance` and `streaming_store` break. `problem` is the core problem of the plan.
std::vector<std::string> brokenHints(const Problem& problem, const TilingPlan& plan, const Machine& machine);

/// Whether the planner stores the results of a legal plan past the caches: where they would not stay in them, and nothing waits.
bool streamingPays(const Problem& problem, const TilingPlan& plan, const PlanCost& cost, const Machine& machine);

}  // namespace cubejit
