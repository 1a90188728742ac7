// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans an NPU's planner looks at. Leaves their legality to the rules and their worth to the cost.
#pragma once

#include <functional>
#include <optional>

#include "algorithms/cube/work.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// Fields the caller has fixed; 0 = free.
struct CubeFixed {
  Mkn singleShape;
  std::optional<BlockOrder> order = std::nullopt;
};

/// Whether candidates are worth looking at that differ from a plan in steps and buffers of L1 alone.
using WorthWhile = std::function<bool(const TilingPlan&)>;

/// Calls `visit` with every candidate that is worth while. Precondition: the machine's cube has the work's type.
void visitCubeCandidates(
    const CubeWork& work, const Machine& machine, const CubeFixed& fixed,
    const std::function<void(const TilingPlan&)>& visit,
    const WorthWhile& worthWhile = [](const TilingPlan&) { return true; });

}  // namespace cubejit
