// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a data gradient with channel lanes are worth considering, and what they cost.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/direct_data/plan.h"
#include "algorithms/kit/result_ops.h"
#include "algorithms/kit/weight_order.h"

namespace cubejit {

/// Lanes are channels of dY: for few result channels, where lanes of results would be idle.
std::vector<DirectDataPlan> inputChannelCandidates(const Problem& problem, const Machine& machine);
PlanCost inputChannelCost(const Problem& problem, const DirectDataPlan& plan, const Machine& machine);

std::vector<DirectDataPlan> directDataCandidates(const Problem& problem, const Machine& machine);
PlanCost directDataCost(const Problem& problem, const DirectDataPlan& plan, const Machine& machine);

void directDataRules(const Problem& core, const DirectDataPlan& plan, const Reorders& reorders, const Machine& machine,
                     Rules& rules);
/// Whether storing the results of a legal plan past the caches pays: where they would not stay in them, and nothing waits.
bool streamingPays(const Problem& core, const DirectDataPlan& plan, const Reorders& reorders, const PlanCost& cost,
                   const Machine& machine);
Result<TileProgram> lowerDirectData(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                    const ResultOps& ops);

/// Whether kernels of one tap can read vectors of weights where they lie: f32, channels of the big tensor side by side.
inline bool channelsSideBySide(const Problem& core) {
  return formatOf(core, TensorId::kW).dtype == DType::kF32 && weightOrder(core, TensorId::kW).big == 4;
}

}  // namespace cubejit
