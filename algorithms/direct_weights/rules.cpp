// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of the direct weight gradient are legal.
#include <algorithm>

#include "algorithms/direct_weights/direct_stores.h"
#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/kit/chunk_partition.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/memory_hints.h"
#include "algorithms/kit/rates.h"

namespace cubejit {
namespace {

// Taps' channels are lanes together where they lie side by side, in the tensor or in a panel.
void tapRules(const ConvView& v, const TilingPlan& plan, const Machine& m, Rules& rules) {
  rules.require(v.kernel.w > 1 && v.dilation.w == 1, [&] {
    return "lanes = taps needs several taps along W that are neighbours: kernel " + std::to_string(v.kernel.w) +
           ", dilation " + std::to_string(v.dilation.w);
  });
  rules.require(plan.panelB || (v.big.channelsLast && v.big.wStride == v.big.channels * byteSize(v.big.dtype)),
                "panel_b must be true: pixels of the lane operand do not follow each other");
  rules.require(plan.baseTapsW == 1, "base_taps_w must be 1: lanes = taps has all taps along W in its vectors");
  const std::int64_t vectors = divUp(v.kernel.w * v.big.channels, m.isa.lanes());
  rules.require(plan.baseVectors == vectors, [&] {
    return "base_vectors = " + std::to_string(plan.baseVectors) + " must be " + std::to_string(vectors) +
           ": lanes = taps has the " + std::to_string(v.big.channels) + " channels of all " +
           std::to_string(v.kernel.w) + " taps along W side by side";
  });
}

void shapeRules(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  const ConvView v = makeConvView(p, Gradient::kDw);
  const bool swapped = plan.lanes == LaneRole::kSwapped;
  const TensorView &lane = swapped ? v.small : v.big, &row = swapped ? v.big : v.small;
  const std::int64_t operands = swapped ? plan.baseVectors : plan.baseVectors * plan.baseTapsW;
  const std::int64_t needed = plan.baseRows * plan.baseTapsW * plan.baseVectors + operands + (plan.dotProducts ? 2 : 1);
  rules.require(needed <= usableRegisters(m, false) + (m.isa.maskRegs > 0 ? 0 : 1), [&] {
    return needsMore("vector registers (accumulators + operands + 1)", needed, usableRegisters(m, false),
                     "shrink the base block");
  });
  rules.require(!plan.firstTouch || (!plan.panelB && v.taps() == 1 && plan.order == IterateOrder::kPixelsOuter),
                "first_touch needs one tap, order = pixels_outer and no panel_b: each block of lanes is copied once");
  const std::int64_t width = plan.baseVectors * m.isa.lanes();
  rules.require(lane.vectorsInPlace(m.isa.lanes(), width) || plan.panelB,
                "panel_b must be true: the lane operand is not f32, f16 or bf16, channels-last or in blocks of whole "
                "vectors that tiles do not straddle");
  rules.require(
      (row.scalarsInPlace(plan.baseRows) && !plan.dotProducts) || plan.panelA,
      "panel_a must be true: the row operand is not f32, plain, channels-last or in blocks that tiles of rows do not "
      "straddle");
  if (plan.lanes == LaneRole::kTaps) tapRules(v, plan, m, rules);
  rules.require(!plan.panelC || plan.cores.reduction == 1,
                "core_reduction must be 1 when panel_c is true: a task unpacks only complete sums");
  const std::int64_t scratchRow = v.taps() * plan.baseVectors * m.isa.lanes() * 4;
  requireReach(rules, "a base block of dw", plan.baseRows * std::max(scratchRow, lane.channels * 4));
  if (!plan.panelA && !row.channelsLast) requireReach(rules, "rows of a base block", row.channelOffset(plan.baseRows));
  const std::int64_t columns = std::min<std::int64_t>(34, v.small.extent.w);
  requireReach(rules, "columns of a step",
               (columns - 1) * v.stride.w * v.big.wStride + plan.baseTapsW * v.dilation.w * v.big.wStride +
                   std::max(width * 4, plan.panelB ? 0 : lane.channelOffset(width)));
}

void hintRules(const Problem& p, TilingPlan plan, const Machine& m, Rules& rules) {
  const bool stores = plan.lanes == LaneRole::kChannels &&
                      storesSumsDirectly(makeConvView(p, Gradient::kDw), plan, formatOf(p, TensorId::kDw).dtype, m.isa);
  if (stores && plan.prefetch != Prefetch::kOperands) {
    if (plan.prefetch == Prefetch::kResults)
      requireUsualPrefetch(rules, plan, "that is what usual means for sums of this length");
    plan.prefetch = Prefetch::kUsual;
  }
  requireNoHints(rules, plan);
}

}  // namespace

void directWeightsRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, plan, machine, true);
  hintRules(core, plan, machine, rules);
  rules.require(!plan.firstTouch || plan.lanes != LaneRole::kTaps,
                "first_touch must be false: only dw with lanes = channels or swapped has it");
  shapeRules(core, plan, machine, rules);
  requireChunks(rules, core, plan);
}

}  // namespace cubejit
