// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which Winograd plans there are for a gradient, what they must fulfil, and what they cost.
// F(m, taps) on every axis that has taps: m + taps - 1 products where the definition has m * taps, for transforms of both
// operands and of the products, and sums that are rounded differently (docs/design.md, "Winograd").
#pragma once

#include <string>
#include <vector>

#include "algorithms/algorithm.h"

namespace cubejit {

/// None if the problem does not allow it or nothing can be gained.
std::vector<TilingPlan> winogradCandidates(const Problem& problem, Gradient gradient, const Machine& machine);
PlanCost winogradCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

/// Why the core problem has no such plans; empty = it may.
std::vector<std::string> winogradApplies(const Problem& core, Gradient gradient, const Machine& machine);
void winogradRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules);
Result<TileProgram> lowerWinograd(const Problem& core, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
