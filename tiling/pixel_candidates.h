// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a data gradient with pixel lanes are worth considering (few channels, or plain tensors), and their cost.
#pragma once

#include <vector>

#include "tiling/planner.h"

namespace cubejit {

std::vector<TilingPlan> dataPixelCandidates(const Problem& problem, const Machine& machine);
PlanCost dataPixelCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
