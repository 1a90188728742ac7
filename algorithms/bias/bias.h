// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plans of a bias gradient and their cost: it is one pass over dy, bound by memory.
#pragma once

#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/bias/plan.h"
#include "algorithms/kit/result_ops.h"

namespace cubejit {

std::vector<BiasPlan> biasCandidates(const Problem& problem, const Machine& machine);
PlanCost biasCost(const Problem& problem, const BiasPlan& plan, const Machine& machine);

void biasRules(const Problem& core, const BiasPlan& plan, const Machine& machine, Rules& rules);
Result<TileProgram> lowerBias(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                              const ResultOps& /*none*/);

}  // namespace cubejit
