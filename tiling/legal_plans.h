// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a search over plans begins with, on the host or an NPU: which plans there are, and what follows from one that was
// changed. Leaves their order and their worth to the planners.
#pragma once

#include <vector>

#include "tiling/planner.h"

namespace cubejit {

/// Every legal candidate of a pass, cheapest first: the front one is what choosePlan picks. Errors as choosePlan's.
Result<std::vector<Candidate>> legalPlans(const Problem& problem, Pass pass, const Machine& machine);

/// The plan with the fields that follow from others: single shapes on the host; the core split on an NPU, where single shapes are what
/// is decided. Its numbers must be at least 1, the problem legal and within the chip's limits.
TilingPlan completed(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
