// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a plan's cost is told: shares, occupancy, and what would help. Leaves the numbers to the cost model.
#pragma once

#include "algorithms/cube/planner.h"
#include "cubejit/npu.h"

namespace cubejit {

/// Multiply-adds the pass needs, border taps counted as if they were inside.
double productsNeeded(const Problem& problem);

/// Precondition: the plan is legal for the work and machine.
NpuReport reportOf(const Problem& problem, const CubeWork& work, const TilingPlan& plan, const CubeCost& cost,
                   const Machine& machine);

/// Plans again for machines with more of one thing at a time, and says what that gains; names products that are zeros.
std::vector<std::string> whatWouldHelp(const Problem& problem, const CubeWork& work, const NpuReport& report,
                                       const Machine& machine);

}  // namespace cubejit
