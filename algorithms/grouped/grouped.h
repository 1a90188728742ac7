// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when lane-wise plans (several small groups side by side in a vector) are worth considering, which, and what they cost.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"

namespace cubejit {

/// Depthwise, channel multipliers and groups of so few channels that several fit a vector.
bool cellsApply(const Problem& problem, const Machine& machine);
std::vector<TilingPlan> cellsCandidates(const Problem& problem, Gradient gradient, const Machine& machine);
/// Of dX whose operands are pairs of bf16 (dotApplies()); none where the ISA does not multiply them.
std::vector<TilingPlan> cellsDotCandidates(const Problem& problem, const Machine& machine);
PlanCost cellsCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

void groupedRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules);
Result<TileProgram> lowerGrouped(const Problem& core, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
