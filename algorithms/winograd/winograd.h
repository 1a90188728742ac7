// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which Winograd plans there are for a gradient, what they must fulfil, and what they cost.
// F(m, taps) on every axis that has taps: m + taps - 1 products where the definition has m * taps, for transforms of both
// operands and of the products, and sums that are rounded differently (docs/design.md, "Winograd").
#pragma once

#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/kit/result_ops.h"
#include "algorithms/winograd/plan.h"

namespace cubejit {

/// None if the problem does not allow it or nothing can be gained.
std::vector<WinogradDataPlan> winogradDataCandidates(const Problem& core, const Machine& machine);
std::vector<WinogradWeightsPlan> winogradWeightCandidates(const Problem& core, const Machine& machine);
PlanCost winogradCost(const Problem& core, const WinogradDataPlan& plan, const Machine& machine);
PlanCost winogradCost(const Problem& core, const WinogradWeightsPlan& plan, const Machine& machine);

/// Why the core problem has no such plans; empty = it may.
std::vector<std::string> winogradApplies(const Problem& core, Pass pass);
void winogradRules(const Problem& core, const WinogradDataPlan& plan, const Machine& machine, Rules& rules);
void winogradRules(const Problem& core, const WinogradWeightsPlan& plan, const Machine& machine, Rules& rules);
Result<TileProgram> lowerWinogradData(const Problem& core, const TilingPlan& plan, const Machine& machine,
                                      const ResultOps& ops);
Result<TileProgram> lowerWinogradWeights(const Problem& core, const TilingPlan& plan, const Machine& machine,
                                         const ResultOps& /*none*/);

}  // namespace cubejit
