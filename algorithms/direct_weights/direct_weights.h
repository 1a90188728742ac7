// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a dense or grouped weight gradient are worth considering, and what they cost.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/direct_weights/plan.h"
#include "algorithms/kit/result_ops.h"

namespace cubejit {

std::vector<DirectWeightsPlan> directWeightsCandidates(const Problem& problem, const Machine& machine);
PlanCost directWeightsCost(const Problem& problem, const DirectWeightsPlan& plan, const Machine& machine);

void directWeightsRules(const Problem& core, const DirectWeightsPlan& plan, const Machine& machine, Rules& rules);
Result<TileProgram> lowerDirectWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                       const ResultOps& /*none*/);

}  // namespace cubejit
