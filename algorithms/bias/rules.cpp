// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a bias gradient are legal.
#include "algorithms/bias/bias.h"
#include "algorithms/kit/conv_view.h"

namespace cubejit {

void biasRules(const Problem& core, const BiasPlan& plan, const Machine& machine, Rules& rules) {
  rules.require(plan.registerVectors + 1 < machine.isa.vectorRegs, [&] {
    return needsMore("vector registers", plan.registerVectors + 1, machine.isa.vectorRegs, "lower register_vectors");
  });
  const ConvView v = makeConvView(core, Gradient::kDb);
  requireReach(rules, "pixels of a step", 4 * (v.bigIsX ? v.small : v.big).wStride);
}

}  // namespace cubejit
