// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which lowering a plan has.
#include "algorithms/grouped/lower/lower.h"

#include "algorithms/grouped/grouped.h"

namespace cubejit {

Result<TileProgram> lowerGrouped(const Problem& core, const TilingPlan& plan, const Machine& machine) {
  return plan.gradient == Gradient::kDx ? lowerDataCells(core, plan, machine) : lowerWeightsCells(core, plan, machine);
}

}  // namespace cubejit
