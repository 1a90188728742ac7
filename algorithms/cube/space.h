// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a search over an NPU's plans begins with and compares by: all legal candidates, in the terms every planner's are told in.
// Leaves the search to others.
#pragma once

#include <vector>

#include "tiling/planner.h"

namespace cubejit {

/// Every legal candidate with its cost, cheapest first. Precondition: a plan exists. Takes some ten milliseconds.
std::vector<Candidate> legalCubePlans(const Problem& problem, Pass pass, const Machine& machine);

/// The cost of a legal plan; of a PlanCost only the total and the bound.
PlanCost cubePlanCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

/// The plan with a single shape no larger than the pass, and the core split that covers the pass with tasks of it.
TilingPlan withCubeSplit(const Problem& problem, TilingPlan plan, const Machine& machine);

}  // namespace cubejit
