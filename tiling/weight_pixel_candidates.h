// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a weight gradient with lanes of pixels are worth considering (few pairs of channels a group, plain tensors), and
// their cost.
#pragma once

#include <vector>

#include "tiling/planner.h"

namespace cubejit {

std::vector<TilingPlan> weightPixelCandidates(const Problem& problem, const Machine& machine);
PlanCost weightPixelCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
