// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of the spatial algorithm are legal, of either gradient.
#include <algorithm>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/memory_hints.h"
#include "algorithms/kit/rates.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

void dataRules(const ConvView& v, const TilingPlan& plan, const Machine& m, bool rounds, Rules& rules) {
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::int64_t phases = gather ? std::min(v.stride.w, result.extent.w) : 1;
  const std::int64_t needed = phases * plan.baseRows * plan.baseH * plan.baseVectors + plan.baseVectors + 1;
  rules.require(needed <= usableRegisters(m, false) + (m.isa.maskRegs > 0 ? 0 : 1), [&] {
    return needsMore("vector registers (residue classes x base_rows x base_h x base_vectors + base_vectors + 1)",
                     needed, usableRegisters(m, false), "shrink the base block");
  });
  rules.require(plan.panelH % plan.baseH == 0, "panel_h must be a multiple of base_h");
  rules.require(phases <= 64, "pixel lanes need a stride along W of at most 64");
  rules.require(gather || v.stride.w == 1, "pixel lanes of a transposed convolution need stride 1 along W");
  rules.require(!operand.channelsLast || plan.panelB, "panel_b must be true: dy is not plain");
  rules.require(plan.panelC || (!result.channelsLast && phases == 1 && v.stride.w == 1 && !rounds),
                "panel_c must be true: results are channels-last, interleaved, or bf16 that no instruction rounds");
  // The rows that a block of several rows reads are steps of its kernel.
  const std::int64_t rowsRead = plan.baseH > 1 ? plan.baseH * (gather ? 1 : v.stride.h) + v.kernel.h * v.dilation.h : 0;
  const std::int64_t channelBytes = plan.panelB ? (operand.extent.w + 32) * 4 : operand.cStride,
                     rowBytes = plan.panelB ? channelBytes * operand.channels : operand.hStride;
  requireReach(rules, "steps of the reduction", (plan.unroll + 1) * channelBytes + rowsRead * rowBytes);
  if (plan.baseH > 1)
    requireReach(rules, "weights of a step", v.taps() * operand.channels * phases * plan.baseRows * 4);
  if (!plan.panelC) {
    requireReach(rules, "rows of a base block",
                 plan.baseRows * result.cStride + plan.baseH * (gather ? v.stride.h : 1) * result.hStride);
  }
}

// Rows of both tensors are read where they lie, and sums of taps stay in registers.
void weightRules(const ConvView& v, const TilingPlan& plan, const Machine& m, Rules& rules) {
  for (const TensorView* t : {&v.big, &v.small}) {
    rules.require(!t->channelsLast && t->c0 == 0, "lanes = pixels of dw needs plain x and dy: choose other lanes");
  }
  rules.require(v.stride.w == 1, [&] {
    return "lanes = pixels of dw needs stride 1 along W, not " + std::to_string(v.stride.w) + ": choose other lanes";
  });
  rules.require(!plan.panelA && !plan.panelB && !plan.panelC && !plan.dotProducts,
                "lanes = pixels of dw has no panel_a, panel_b, panel_c or dot_products");
  rules.require(plan.baseTapsH <= v.kernel.h && plan.baseTapsW <= v.kernel.w,
                "base_taps_h and base_taps_w must not be more than the taps there are");
  rules.require(v.batch % plan.baseBatch == 0, [&] {
    return "base_batch = " + std::to_string(plan.baseBatch) + " must divide the " + std::to_string(v.batch) + " images";
  });
  const std::int64_t needed = plan.baseTapsH * plan.baseTapsW + plan.baseH + 2;
  rules.require(needed <= usableRegisters(m, true), [&] {
    return needsMore("vector registers (base_taps_h x base_taps_w + base_h + 2)", needed, usableRegisters(m, true),
                     "shrink the base block");
  });
  requireReach(rules, "a base block",
               (plan.baseH * v.stride.h + plan.baseTapsH * v.dilation.h) * v.big.hStride +
                   plan.baseTapsW * v.dilation.w * 4 + v.kernel.h * v.kernel.w * m.isa.lanes() * 4);
}

}  // namespace

void spatialRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, plan, machine, false);
  requireNoHints(rules, plan);
  rules.require(!plan.firstTouch, "first_touch must be false: only dw with lanes = channels or swapped has it");
  const ConvView v = makeConvView(core, plan.gradient);
  if (plan.gradient == Gradient::kDw) return weightRules(v, plan, machine, rules);
  const bool rounds = !plan.panelC && roundsByIntegers((v.bigIsX ? v.big : v.small).dtype, machine.isa);
  dataRules(v, plan, machine, rounds, rules);
}

}  // namespace cubejit
