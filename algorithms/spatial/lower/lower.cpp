// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which lowering a plan has.
#include "algorithms/spatial/lower/lower.h"

#include "algorithms/spatial/spatial.h"

namespace cubejit {

Result<TileProgram> lowerSpatial(const Problem& core, const TilingPlan& plan, const Machine& machine) {
  return plan.gradient == Gradient::kDx ? lowerDataPixels(core, plan, machine)
                                        : lowerWeightsPixels(core, plan, machine);
}

}  // namespace cubejit
