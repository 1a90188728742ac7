// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what planning says of db on an NPU: the vector unit adds up dy in the one way there is, so a plan has nothing to decide.
#pragma once

#include <string>
#include <vector>

#include "tiling/planner.h"

namespace cubejit {

/// The plan and what the model expects of it. Errors: the machine's rules and the problem's, all of them.
Result<PlanChoice> chooseBiasPlan(const Problem& problem, const Machine& machine);

/// Every rule that is broken, one per entry; empty = legal.
std::vector<std::string> checkBiasPlan(const Problem& problem, const TilingPlan& plan, const Machine& machine);

/// Core cycles of the core with most blocks of channels: dy's way to UB at the rate of L2, then the vector unit's bytes.
PlanCost biasPlanCost(const Problem& problem, const Machine& machine);

}  // namespace cubejit
