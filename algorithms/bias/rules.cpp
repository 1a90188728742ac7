// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of a bias gradient are legal.
#include <algorithm>

#include "algorithms/bias/bias.h"
#include "algorithms/bias/sums.h"
#include "algorithms/kit/conv_view.h"

namespace cubejit {

void biasRules(const Problem& core, const BiasPlan& plan, const Machine& machine, Rules& rules) {
  const ConvView v = makeConvView(core, Pass::kDb);
  const TensorView& y = v.bigIsX ? v.small : v.big;
  const std::int64_t lanes = machine.isa.lanes(), channels = y.channels * v.groups;
  MicrokernelRegisters sums;
  sums.accumulators = sums.vectorsB = plan.registerVectors;
  sums.masks = channels % lanes != 0;
  requireRegisters(rules, sums, machine.isa, "register_vectors");
  requireReach(rules, "pixels of a step", 4 * y.wStride);
  requireShortSums(rules, biasSums(v, machine.isa.lanes()), plan.reductionParts);
}

}  // namespace cubejit
