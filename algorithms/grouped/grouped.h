// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when grouped plans (several small groups side by side in a vector) are worth considering, which, and what they cost.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/grouped/plan.h"
#include "algorithms/kit/result_ops.h"

namespace cubejit {

/// Depthwise, channel multipliers and groups of so few channels that several fit a vector.
bool groupedApplies(const Problem& problem, const Machine& machine);
std::vector<GroupedDataPlan> groupedDataCandidates(const Problem& core, const Machine& machine);
/// Plans for operands that are pairs of bf16 (dotApplies()); none where the ISA does not multiply them.
std::vector<GroupedDataPlan> groupedDotCandidates(const Problem& core, const Machine& machine);
std::vector<GroupedWeightsPlan> groupedWeightsCandidates(const Problem& core, const Machine& machine);
void groupedRules(const Problem& core, const GroupedDataPlan& plan, const Machine& machine, Rules& rules);
void groupedRules(const Problem& core, const GroupedWeightsPlan& plan, const Machine& machine, Rules& rules);
PlanCost groupedDataCost(const Problem& core, const GroupedDataPlan& plan, const Machine& machine);
PlanCost groupedWeightsCost(const Problem& core, const GroupedWeightsPlan& plan, const Machine& machine);
Result<TileProgram> lowerGroupedData(const Problem& core, const TilingPlan& plan, const Machine& machine,
                                     const ResultOps& ops);
Result<TileProgram> lowerGroupedWeights(const Problem& core, const TilingPlan& plan, const Machine& machine,
                                        const ResultOps& /*none*/);

}  // namespace cubejit
