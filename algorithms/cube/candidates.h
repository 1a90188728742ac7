// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans an NPU's planner looks at. Leaves their legality to the rules and their worth to the cost.
#pragma once

#include <functional>
#include <optional>

#include "algorithms/cube/cost.h"
#include "algorithms/cube/work.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// Fields the caller has fixed; 0 = free.
struct CubeFixed {
  Mkn singleShape;
  std::optional<BlockOrder> order = std::nullopt;
};

/// Whether plans are worth looking at that take at least so much.
using WorthWhile = std::function<bool(const LeastCost&)>;

/// Calls `visit` with every candidate that is worth while, those of the least bounds first. What is tried does not depend on the machine's
/// buffers, only what fits: a larger buffer takes no candidate away. Where nothing fits, the smallest plan is visited. Precondition: the
/// machine's cube has the work's type.
void visitCubeCandidates(
    const CubeWork& work, const Machine& machine, const CubeFixed& fixed,
    const std::function<void(const TilingPlan&)>& visit,
    const WorthWhile& worthWhile = [](const LeastCost&) { return true; });

}  // namespace cubejit
