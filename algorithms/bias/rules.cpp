// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a bias gradient are legal.
#include "algorithms/bias/bias.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/memory_hints.h"

namespace cubejit {

void biasRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, plan, machine, false);
  requireNoHints(rules, plan);
  rules.require(!plan.firstTouch, "first_touch must be false: only dw with lanes = channels or swapped has it");
  rules.require(plan.baseVectors + 1 < machine.isa.vectorRegs, [&] {
    return needsMore("vector registers", plan.baseVectors + 1, machine.isa.vectorRegs, "lower base_vectors");
  });
  const ConvView v = makeConvView(core, Gradient::kDb);
  requireReach(rules, "pixels of a step", 4 * (v.bigIsX ? v.small : v.big).wStride);
}

}  // namespace cubejit
