// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a data gradient with channel lanes are worth considering, and what they cost.
#pragma once

#include <vector>

#include "tiling/planner.h"

namespace cubejit {

/// Lanes are channels of dY: for few result channels, where lanes of results would be idle.
std::vector<TilingPlan> dataReducedCandidates(const Problem& problem, const Machine& machine);
PlanCost dataReducedCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

std::vector<TilingPlan> dataChannelCandidates(const Problem& problem, const Machine& machine);
PlanCost dataChannelCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
