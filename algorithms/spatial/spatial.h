// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the parts of the spatial algorithm: vectors of pixels along W, for few channels or plain tensors.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/kit/result_ops.h"
#include "algorithms/spatial/plan.h"

namespace cubejit {

std::vector<SpatialDataPlan> spatialDataCandidates(const Problem& core, const Machine& machine);
std::vector<SpatialWeightsPlan> spatialWeightsCandidates(const Problem& core, const Machine& machine);
void spatialRules(const Problem& core, const SpatialDataPlan& plan, const Machine& machine, Rules& rules);
void spatialRules(const Problem& core, const SpatialWeightsPlan& plan, const Machine& machine, Rules& rules);
PlanCost spatialDataCost(const Problem& core, const SpatialDataPlan& plan, const Machine& machine);
PlanCost spatialWeightsCost(const Problem& core, const SpatialWeightsPlan& plan, const Machine& machine);
Result<TileProgram> lowerSpatialData(const Problem& core, const TilingPlan& plan, const Machine& machine,
                                     const ResultOps& ops);
Result<TileProgram> lowerSpatialWeights(const Problem& core, const TilingPlan& plan, const Machine& machine,
                                        const ResultOps& /*none*/);

}  // namespace cubejit
