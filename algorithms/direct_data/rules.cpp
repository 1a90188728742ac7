// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of the direct data gradient are legal, and where storing past the caches pays.
#include <algorithm>
#include <limits>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/result_prefetch.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/memory_hints.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/reorder.h"
#include "cubejit/index_map.h"

namespace cubejit {
namespace {

constexpr std::int64_t kUsualDistance = TilingPlan().prefetchDistance, kMostDistance = 64;

// Why results cannot, or should not, go past the caches; empty = they can.
std::string whyNotStreamed(const Problem& p, const TilingPlan& plan, const Machine& m) {
  if (plan.lanes != LaneRole::kChannels || plan.panelC || plan.reorders.result)
    return "only contracts of dx that write it in place (lanes = channels, no panel_c, no stage_result) can";
  if (formatOf(p, TensorId::kDx).dtype != DType::kF32) return "16-bit results are less than a line of a cache";
  const ConvView v = makeConvView(p, Gradient::kDx);
  const TensorView& result = v.bigIsX ? v.big : v.small;
  const std::int64_t vector = std::int64_t{m.isa.lanes()} * 4;
  for (const std::int64_t stride : {result.nStride, result.dStride, result.hStride, result.wStride}) {
    if (stride % vector != 0)
      return "pixels of dx are " + std::to_string(stride) + " bytes apart, not a multiple of a vector's " +
             std::to_string(vector);
  }
  if (result.bytes <= m.buffers.l1Bytes)
    return "dx has " + std::to_string(result.bytes) + " bytes, which the L2 cache of " +
           std::to_string(m.buffers.l1Bytes) + " keeps";
  return {};
}

// Empty if the plan's prefetch is another program than the usual one.
std::string whyNoOtherPrefetch(const Problem& p, const TilingPlan& plan) {
  if (plan.prefetch == Prefetch::kOperands) {
    return plan.lanes == LaneRole::kChannels && !plan.panelA
               ? ""
               : "only dx with lanes = channels that reads dy where it lies asks for operands";
  }
  if (plan.lanes == LaneRole::kReduced)
    return plan.prefetch == Prefetch::kNone ? "" : "lanes = reduced asks for operands; say prefetch_distance";
  if (plan.panelC) return "only contracts that write the gradient in place ask for lines";
  const ConvView v = makeConvView(p, Gradient::kDx);
  const std::int64_t sum = (v.bigIsX ? v.small : v.big).words(plan.dotProducts) * v.taps();
  return prefetchesDxResults(plan.prefetch, sum) == prefetchesDxResults(Prefetch::kUsual, sum)
             ? "that is what usual means for sums of this length"
             : "";
}

void hintRules(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  if (plan.prefetch != Prefetch::kUsual) requireUsualPrefetch(rules, plan, whyNoOtherPrefetch(p, plan));
  const bool ahead =
      (plan.lanes == LaneRole::kReduced && plan.prefetch != Prefetch::kNone) || plan.prefetch == Prefetch::kOperands;
  rules.require(ahead || plan.prefetchDistance == kUsualDistance, [&] {
    return "prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be " +
           std::to_string(kUsualDistance) + ": only lanes = reduced, and prefetch = operands, ask for operands";
  });
  rules.require(plan.prefetchDistance <= kMostDistance, [&] {
    return "prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be at most " +
           std::to_string(kMostDistance);
  });
  if (!plan.streamingStore) return;
  const std::string why = whyNotStreamed(p, plan, m);
  rules.require(why.empty(), [&] { return "streaming_store must be false: " + why; });
}

void shapeRules(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  const ConvView v = makeConvView(p, Gradient::kDx);
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::int64_t box = plan.baseBatch * plan.baseD * plan.baseH * plan.baseW;
  // Rounding results takes three registers beside them, unless the ISA has an instruction for it.
  const bool rounds = !plan.panelC && roundsByIntegers(result.dtype, m.isa);
  if (plan.lanes == LaneRole::kReduced) {
    const std::int64_t needed = box * result.channels + result.channels + 1;
    rules.require(needed <= usableRegisters(m, true), [&] {
      return needsMore("vector registers (base pixels x result channels + result channels + 1)", needed,
                       usableRegisters(m, true), "shrink the base block, or use lanes = channels");
    });
    rules.require(plan.panelC && plan.packWeights && !plan.panelB,
                  "lanes = reduced needs panel_c and pack_weights, and no panel_b");
    rules.require(operand.directFor(plan.dotProducts) || plan.panelA,
                  "panel_a must be true: dy is not channels-last of the type that is multiplied, or its pairs of "
                  "channels are not whole");
    rules.require(!result.channelsLast || v.groups == 1,
                  "lanes = reduced writes channels-last results of one group only");
    rules.require(plan.baseBatch == 1, "base_batch must be 1 when panels are used");
    rules.require(plan.baseTapsW == 1, "base_taps_w must be 1: lanes = reduced has no scalars to share");
    rules.require(plan.panelH % (v.line ? plan.baseW : plan.baseH) == 0,
                  "panel_h must be a multiple of the base block's rows");
    rules.require(plan.panelD % plan.baseD == 0, "panel_d must be a multiple of base_d");
    if (!plan.panelA) {
      requireReach(rules, "a base block of the operand",
                   (plan.baseD + plan.baseH) * operand.dStride + plan.baseW * operand.wStride);
    }
  }
  if (plan.lanes == LaneRole::kChannels) {
    const std::int64_t operands = plan.baseTapsW * plan.baseVectors, taps = std::min(plan.baseTapsW, v.kernel.w);
    const std::int64_t needed = box * plan.baseVectors + std::max<std::int64_t>(operands + 1, rounds ? 3 : 0);
    rules.require(needed <= usableRegisters(m, false) + (m.isa.maskRegs > 0 ? 0 : 1), [&] {
      return needsMore("vector registers (base pixels x base_vectors + base_taps_w x base_vectors + 1)", needed,
                       usableRegisters(m, false), "shrink the base block");
    });
    const Dhw step = gather ? v.stride : Dhw{1, 1, 1}, read = gather ? Dhw{1, 1, 1} : v.stride;
    if (!plan.panelC) {
      requireReach(
          rules, "a base block of the result",
          (plan.baseBatch - 1) * result.nStride + (plan.baseD - 1) * step.d * result.dStride +
              (plan.baseH - 1) * step.h * result.hStride + (plan.baseW - 1) * step.w * result.wStride +
              std::max(plan.baseVectors * m.isa.lanes() * 4, result.channelOffset(plan.baseVectors * m.isa.lanes())));
    }
    if (!plan.panelA) {
      requireReach(rules, "a base block of the operand",
                   (plan.baseBatch - 1) * operand.nStride + (plan.baseD - 1) * read.d * operand.dStride +
                       (plan.baseH - 1) * read.h * operand.hStride +
                       (plan.baseW * read.w + (taps - 1) * v.dilation.w) * operand.wStride);
    }
    if (taps > 1)
      requireReach(rules, "weights of a step", taps * operand.channels * plan.baseVectors * m.isa.lanes() * 4);
    rules.require(plan.baseTapsW <= v.kernel.w, [&] {
      return "base_taps_w = " + std::to_string(plan.baseTapsW) + " is more than the " + std::to_string(v.kernel.w) +
             " taps along W";
    });
    rules.require(plan.packWeights || (v.taps() == 1 && gather),
                  "pack_weights = false needs a 1x1 kernel of an ordinary convolution");
    rules.require(
        result.resultsInPlace(m.isa.lanes(), plan.baseVectors * m.isa.lanes()) || plan.panelC,
        "panel_c must be true: results are neither channels-last nor in full blocks of whole vectors that tiles do not "
        "straddle");
    rules.require(operand.sumsInPlace(plan.dotProducts, plan.unroll) || plan.panelA,
                  "panel_a must be true: dy is not channels-last, or in blocks of channels that unroll divides, of the "
                  "type that is multiplied, or its pairs of channels are not whole");
    requireWholeBlocks(rules, result, plan.panelB && plan.panelC, plan.baseVectors * m.isa.lanes(), "results");
    rules.require(plan.packWeights || formatOf(p, TensorId::kW).dtype == DType::kF32,
                  "pack_weights must be true: w is not f32");
    rules.require(!plan.panelB || plan.packWeights, "panel_b needs pack_weights: it is the panel they are packed into");
    rules.require(plan.baseBatch == 1 || (!plan.panelA && !plan.panelC), "base_batch must be 1 when panels are used");
    rules.require(plan.panelH % (v.line ? plan.baseW : plan.baseH) == 0,
                  "panel_h must be a multiple of the base block's rows");
    rules.require(plan.panelD % plan.baseD == 0, "panel_d must be a multiple of base_d");
  }
}

}  // namespace

void directDataRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, plan, machine, plan.lanes == LaneRole::kChannels || wholePairs(core));
  hintRules(core, plan, machine, rules);
  shapeRules(core, plan, machine, rules);
}

// What is left in the caches serves whoever reads the gradient next, so it is given up only where it is little. Computing hides the
// way to memory, not the reads for ownership that it spares: 2 to 10 % on layers of ResNet-50 (measured on Zen4). Results go to memory
// about half as fast as operands come from it (Zen5: 5 bytes a cycle of a core); layers that do little else but store into L3 were 1.3
// to 1.4 times slower. Half a line of a cache waits for the other half.
bool streamingPays(const Problem& p, const TilingPlan& plan, const PlanCost& cost, const Machine& m) {
  constexpr std::int64_t kLineBytes = 64;
  constexpr double kStreamedShare = 0.55;
  if (plan.baseVectors * m.isa.lanes() * 4 % kLineBytes != 0 || !whyNotStreamed(p, plan, m).empty()) return false;
  const ConvView v = makeConvView(p, Gradient::kDx);
  const double l3 = static_cast<double>(m.buffers.l2Bytes),
               result = static_cast<double>(v.bigIsX ? v.big.bytes : v.small.bytes);
  if (result > 0.75 * l3) return true;
  return static_cast<double>(v.big.bytes + v.small.bytes) > kOwnL3 * l3 &&
         cost.computeCycles > std::max(cost.memoryCycles, result / (kStreamedShare * m.rates.dramBytesPerCycle));
}

}  // namespace cubejit
