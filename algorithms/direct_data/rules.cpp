// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of the direct data gradient are legal, and where storing past the caches pays.
#include <algorithm>
#include <limits>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/result_prefetch.h"
#include "algorithms/direct_data/tiles.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/dot_products.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/reorder.h"
#include "cubejit/index_map.h"

namespace cubejit {
namespace {

constexpr std::int64_t kUsualDistance = DirectDataPlan().prefetchDistance, kMostDistance = 64;

// Why results cannot, or should not, go past the caches; empty = they can.
std::string whyNotStreamed(const Problem& p, const DirectDataPlan& plan, const Reorders& reorders, const Machine& m) {
  if (plan.vectorize != DataVectors::kOutputChannels || plan.bufferC || reorders.result)
    return "only kernels that write dx in place (vectorize = output_channels, no buffer_c, no reorder_result) can";
  if (formatOf(p, TensorId::kDx).dtype != DType::kF32) return "16-bit results are less than a line of a cache";
  const ConvView v = makeConvView(p, Pass::kDx);
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
std::string whyNoOtherPrefetch(const Problem& p, const DirectDataPlan& plan) {
  if (plan.prefetch == Prefetch::kOperands) {
    return plan.vectorize == DataVectors::kOutputChannels && !plan.packA
               ? ""
               : "only vectorize = output_channels that reads dy where it lies (no pack_a) prefetches operands";
  }
  if (plan.vectorize == DataVectors::kInputChannels)
    return plan.prefetch == Prefetch::kNone ? ""
                                            : "vectorize = input_channels prefetches operands; say prefetch_distance";
  if (plan.bufferC) return "only kernels that write dx in place (no buffer_c) prefetch results";
  const ConvView v = makeConvView(p, Pass::kDx);
  const std::int64_t sum = (v.bigIsX ? v.small : v.big).words(plan.dotProducts) * v.taps();
  return prefetchesDxResults(plan.prefetch, sum) == prefetchesDxResults(Prefetch::kUsual, sum)
             ? "that is what usual means for sums of this length"
             : "";
}

void hintRules(const Problem& p, const DirectDataPlan& plan, const Reorders& reorders, const Machine& m, Rules& rules) {
  if (plan.prefetch != Prefetch::kUsual) {
    const std::string why = whyNoOtherPrefetch(p, plan);
    rules.require(why.empty(),
                  [&] { return std::string("prefetch = ") + toString(plan.prefetch) + " must be usual: " + why; });
  }
  const bool ahead = (plan.vectorize == DataVectors::kInputChannels && plan.prefetch != Prefetch::kNone) ||
                     plan.prefetch == Prefetch::kOperands;
  rules.require(ahead || plan.prefetchDistance == kUsualDistance, [&] {
    return "prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be " +
           std::to_string(kUsualDistance) +
           ": only vectorize = input_channels, and prefetch = operands, prefetch operands";
  });
  rules.require(plan.prefetchDistance <= kMostDistance, [&] {
    return "prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be at most " +
           std::to_string(kMostDistance);
  });
  if (!plan.streamingStore) return;
  const std::string why = whyNotStreamed(p, plan, reorders, m);
  rules.require(why.empty(), [&] { return "streaming_store must be false: " + why; });
}

// The register block in tiles: columns of zeros in the panel of dy let every tap reach all rows of a tile, and sums of f32 go to a panel of dx.
void tileRules(const Problem& p, const DirectDataPlan& plan, const ConvView& v, const Machine& m, Rules& rules) {
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  AxisRelation along{gather, result.extent.w, operand.extent.w, v.kernel.w, v.stride.w, v.dilation.w, v.pad.w};
  const std::int64_t columns = padWithZeros(along).all(), pairs = PairProducts(pairsOfTaps(v)).zeros;
  rules.require(plan.packA || (columns == 0 && pairs == 0 && operand.directFor(true) && tapsOfProduct(v) == 1), [&] {
    return "pack_a must be true: taps reach " + std::to_string(columns) + " columns of zeros beside dy, and products " +
           std::to_string(pairs) +
           " pairs behind its channels, which only a panel has, or dy is not channels-last with whole pairs of "
           "channels";
  });
  rules.require(m.isa.matrixProduct(operand.dtype) != nullptr && dotApplies(p, Pass::kDx, operand.dtype), [&] {
    return std::string("matrix_unit must be false: ") + toString(m.isa.level) + " multiplies no pairs of " +
           toString(operand.dtype) + " in tiles, or w is of another type";
  });
  rules.require(
      plan.vectorize == DataVectors::kOutputChannels && plan.dotProducts && plan.bufferC && plan.packsWeights(),
      "matrix_unit needs vectorize = output_channels, dot_products, buffer_c and packed weights");
  rules.require(plan.registerD == 1, "register_d must be 1: rows of tiles are pixels of a plane");
  rules.require(
      plan.registerH == 1 || (plan.packA && v.stride.h == 1 && v.stride.w == 1 && plan.registerW >= result.extent.w),
      [&] {
        return "register_h must be 1: tiles have pixels of several rows only of whole ones, of " +
               std::to_string(result.extent.w) + " pixels, without strides, and with pack_a";
      });
  const std::int64_t tiles = rowTiles(flatPixels(v, plan.registerH, plan.registerW));
  rules.require(kAmxBf16.holds(tiles, plan.registerVectors), [&] {
    return "a register block of " + std::to_string(plan.registerH) + " x " + std::to_string(plan.registerW) +
           " pixels x " + std::to_string(plan.registerVectors) + " vectors takes more than 8 tiles with its operands";
  });
  rules.require(tapsOfProduct(v) == 1 || !plan.packsPerTask(),
                "pack_b must be beforehand: channels of several taps are pairs");
  rules.require(plan.broadcastTaps == 1 && plan.unroll == DirectDataPlan().unroll,
                "broadcast_taps must be 1 and unroll 4: matrix_unit has steps of its own");
}

void shapeRules(const Problem& p, const DirectDataPlan& plan, const Machine& m, Rules& rules) {
  ConvView v = makeConvView(p, Pass::kDx, plan.matrixUnit ? axisOf(plan) : OneAxis::kOnW);
  v.oneAxis = v.oneAxis && !plan.matrixUnit;
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::int64_t box = plan.registerN * plan.registerD * plan.registerH * plan.registerW;
  const std::int64_t lanes = m.isa.lanes();
  const int axis = v.oneAxis ? 2 : 1;  // the one that cache blocks cut
  const std::int64_t along = divUp(result.extent[axis], gather ? v.stride[axis] : 1);
  requireFewBlocks(rules, "cache_h", along, plan.cache.h, "raise cache_h");
  rules.require(!plan.dotProducts || operand.c0 <= 1 || operand.c0 % 2 == 0, [&] {
    return "dot_products must be false: pairs of channels lie in two blocks of " + std::to_string(operand.c0);
  });
  requireFewBlocks(rules, "cache_h", std::min(plan.cache.h, along), v.oneAxis ? plan.registerW : plan.registerH,
                   "lower cache_h");
  if (plan.vectorize == DataVectors::kInputChannels) {
    rules.require(!plan.matrixUnit, "matrix_unit must be false: vectorize = input_channels has no tiles");
    MicrokernelRegisters sums;
    sums.accumulators = box * result.channels;
    sums.vectorsB = result.channels;
    sums.masks = operand.words(plan.dotProducts) % lanes != 0;
    sums.vectorsA = true;
    requireRegisters(rules, sums, m.isa, "register block x output channels");
    rules.require(plan.bufferC && plan.packB == PackWeights::kBeforehand,
                  "vectorize = input_channels needs buffer_c and pack_b = beforehand");
    rules.require(operand.directFor(plan.dotProducts) || plan.packA,
                  "pack_a must be true: dy is not channels-last of the type that is multiplied, or its pairs of "
                  "channels are not whole");
    rules.require(!result.channelsLast || v.groups == 1,
                  "vectorize = input_channels writes channels-last results of one group only");
    rules.require(plan.registerN == 1, "register_n must be 1 when panels are used");
    rules.require(plan.registerVectors == 1,
                  "register_vectors must be 1: vectorize = input_channels has one vector a pixel and output channel");
    rules.require(plan.broadcastTaps == 1, "broadcast_taps must be 1: vectorize = input_channels has no broadcasts");
    rules.require(plan.cache.h % (v.oneAxis ? plan.registerW : plan.registerH) == 0,
                  "cache_h must be a multiple of the register block's rows");
    rules.require(plan.cache.d % plan.registerD == 0, "cache_d must be a multiple of register_d");
    if (!plan.packA) {
      requireReach(rules, "a register block of the operand",
                   (plan.registerD + plan.registerH) * operand.dStride + plan.registerW * operand.wStride);
    }
  }
  if (plan.vectorize == DataVectors::kOutputChannels) {
    const std::int64_t taps = std::min(plan.broadcastTaps, v.kernel.w), width = plan.registerVectors * lanes;
    if (plan.matrixUnit) tileRules(p, plan, v, m, rules);
    for (const std::int64_t channels : {width, result.channels % width}) {  // and of the last block
      if (plan.matrixUnit) break;
      const std::int64_t vectors = divUp(channels, lanes);
      MicrokernelRegisters sums;
      sums.accumulators = box * vectors;
      sums.vectorsB = taps * vectors;
      sums.masks = channels % lanes != 0 && (!plan.bufferC || !plan.packsWeights());
      sums.rounds = !plan.bufferC && roundsByIntegers(result.dtype, m.isa);
      requireRegisters(rules, sums, m.isa, "register block x register_vectors");
    }
    const Dhw step = gather ? v.stride : Dhw{1, 1, 1}, read = gather ? Dhw{1, 1, 1} : v.stride;
    if (!plan.bufferC) {
      requireReach(rules, "a register block of the result",
                   (plan.registerN - 1) * result.nStride + (plan.registerD - 1) * step.d * result.dStride +
                       (plan.registerH - 1) * step.h * result.hStride + (plan.registerW - 1) * step.w * result.wStride +
                       std::max(plan.registerVectors * m.isa.lanes() * 4,
                                result.channelOffset(plan.registerVectors * m.isa.lanes())));
    }
    if (!plan.packA) {
      requireReach(rules, "a register block of the operand",
                   (plan.registerN - 1) * operand.nStride + (plan.registerD - 1) * read.d * operand.dStride +
                       (plan.registerH - 1) * read.h * operand.hStride +
                       (plan.registerW * read.w + (taps - 1) * v.dilation.w) * operand.wStride);
    }
    if (taps > 1)
      requireReach(rules, "weights of a step", taps * operand.channels * plan.registerVectors * m.isa.lanes() * 4);
    rules.require(plan.broadcastTaps <= v.kernel.w, [&] {
      return "broadcast_taps = " + std::to_string(plan.broadcastTaps) + " is more than the " +
             std::to_string(v.kernel.w) + " taps along W";
    });
    rules.require(plan.packsWeights() || (v.taps() == 1 && gather),
                  "pack_b = none needs a 1x1 kernel of an ordinary convolution");
    rules.require(result.resultsInPlace(m.isa.lanes(), plan.registerVectors * m.isa.lanes()) || plan.bufferC,
                  "buffer_c must be true: results are neither channels-last nor in full blocks of whole vectors that "
                  "tiles do not straddle");
    rules.require(operand.sumsInPlace(plan.dotProducts, plan.unroll) || plan.packA,
                  "pack_a must be true: dy is not channels-last, or in blocks of channels that unroll divides, of the "
                  "type that is multiplied, or its pairs of channels are not whole");
    requireWholeBlocks(rules, result, plan.packsPerTask() && plan.bufferC, plan.registerVectors * m.isa.lanes(),
                       "results");
    rules.require(plan.packsWeights() || channelsSideBySide(p),
                  "pack_b must not be none: w is not f32 whose channels of dx lie side by side");
    rules.require(plan.registerN == 1 || (!plan.packA && !plan.bufferC), "register_n must be 1 when panels are used");
    rules.require(plan.cache.h % (v.oneAxis ? plan.registerW : plan.registerH) == 0,
                  "cache_h must be a multiple of the register block's rows");
    rules.require(plan.cache.d % plan.registerD == 0, "cache_d must be a multiple of register_d");
  }
}

}  // namespace

void directDataRules(const Problem& core, const DirectDataPlan& plan, const Reorders& reorders, const Machine& machine,
                     Rules& rules) {
  requireDotProducts(rules, core, Pass::kDx, machine, plan.dotProducts && !plan.matrixUnit,
                     plan.vectorize == DataVectors::kOutputChannels || wholePairs(core));
  hintRules(core, plan, reorders, machine, rules);
  shapeRules(core, plan, machine, rules);
}

// What is left in the caches serves whoever reads the gradient next, so it is given up only where it is little. Computing hides the
// way to memory, not the reads for ownership that it spares: 2 to 10 % on layers of ResNet-50 (measured on Zen4). Results go to memory
// about half as fast as operands come from it (Zen5: 5 bytes a cycle of a core); layers that do little else but store into L3 were 1.3
// to 1.4 times slower. Half a line of a cache waits for the other half.
bool streamingPays(const Problem& p, const DirectDataPlan& plan, const Reorders& reorders, const PlanCost& cost,
                   const Machine& m) {
  constexpr std::int64_t kLineBytes = 64;
  constexpr double kStreamedShare = 0.55;
  if (plan.registerVectors * m.isa.lanes() * 4 % kLineBytes != 0 || !whyNotStreamed(p, plan, reorders, m).empty())
    return false;
  const ConvView v = makeConvView(p, Pass::kDx);
  const double l3 = static_cast<double>(m.buffers.l2Bytes),
               result = static_cast<double>(v.bigIsX ? v.big.bytes : v.small.bytes);
  if (result > 0.75 * l3) return true;
  return static_cast<double>(v.big.bytes + v.small.bytes) > kOwnL3 * l3 &&
         cost.computeCycles > std::max(cost.memoryCycles, result / (kStreamedShare * m.rates.dramBytesPerCycle));
}

}  // namespace cubejit
