// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the JSON form of what an emulated run counts: "cubejit.soc_run/1".
#pragma once

#include <string>

#include "cubejit/core_counts.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// One object without line breaks. Events are not in it: cubejit/timeline.h shows them.
std::string reportToJson(const Machine& chip, const TilingPlan& plan, const EmulationReport& report);

}  // namespace cubejit
