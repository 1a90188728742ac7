// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which lowering a plan has.
#include "algorithms/winograd/lower/lower.h"

#include "algorithms/winograd/winograd.h"

namespace cubejit {

Result<TileProgram> lowerWinograd(const Problem& core, const TilingPlan& plan, const Machine& machine) {
  return plan.gradient == Gradient::kDx ? lowerWinogradData(core, plan, machine)
                                        : lowerWinogradWeights(core, plan, machine);
}

}  // namespace cubejit
