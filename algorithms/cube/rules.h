// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules of NPUs: what a chip takes of a problem, and which plans its cores can run. Leaves to the planner which of
// the legal plans is best.
#pragma once

#include <string>
#include <vector>

#include "algorithms/cube/work.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// The most that m, k and n of one mmad may be: the documentation of its parameters.
inline constexpr std::int64_t kMostMmad = 4095;

/// Every rule the problem breaks on this chip: its limits and types, with the chips that have a type. Empty = it can be planned.
std::vector<std::string> checkChip(const Problem& problem, Pass pass, const Machine& machine);

/// Every rule the plan breaks: the buffer, both byte counts, the field to change. Empty = legal.
std::vector<std::string> checkCubePlan(const CubeWork& work, const TilingPlan& plan, const Machine& machine);

/// The split that follows from the extents of a task. Precondition: they are at least 1.
CoreSplit splitOf(const CubeWork& work, const Mkn& singleShape);

/// Tasks along pixels when each has `pixels` of them: whole rows, or pieces of one row.
std::int64_t pixelTasks(const CubeWork& work, std::int64_t pixels);

}  // namespace cubejit
