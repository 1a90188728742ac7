// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of the direct weight gradient are legal.
#include <algorithm>

#include "algorithms/direct_weights/direct_stores.h"
#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/direct_weights/flat_rows.h"
#include "algorithms/direct_weights/pixel_pairs.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/dot_products.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/reduction_partition.h"

namespace cubejit {
namespace {

// Taps' channels are lanes together where they lie side by side, in the tensor or in a panel.
void tapRules(const ConvView& v, const DirectWeightsPlan& plan, const Machine& m, Rules& rules) {
  rules.require(v.kernel.w > 1 && v.dilation.w == 1, [&] {
    return "vectorize = kernel_width needs several taps along W that are neighbours: kernel " +
           std::to_string(v.kernel.w) + ", dilation " + std::to_string(v.dilation.w);
  });
  rules.require(plan.packsVectors() || (v.big.channelsLast && v.big.wStride == v.big.channels * byteSize(v.big.dtype)),
                "pack_b must be block: pixels of the vector operand do not follow each other");
  rules.require(plan.registerTaps == 1,
                "register_taps must be 1: vectorize = kernel_width has all taps along W in its vectors");
  const std::int64_t vectors = divUp(v.kernel.w * v.big.channels, m.isa.lanes());
  rules.require(plan.registerVectors == vectors, [&] {
    return "register_vectors = " + std::to_string(plan.registerVectors) + " must be " + std::to_string(vectors) +
           ": vectorize = kernel_width has the " + std::to_string(v.big.channels) + " channels of all " +
           std::to_string(v.kernel.w) + " taps along W side by side";
  });
}

// Taps beyond the edges leave lanes of vectors along the kernel alone.
bool tapsLeaveRows(const ConvView& v) {
  return v.pad.w > 0 || (v.small.extent.w - 1) * v.stride.w + (v.kernel.w - 1) * v.dilation.w >= v.big.extent.w;
}

void registerRules(const ConvView& v, const DirectWeightsPlan& plan, const Machine& m, std::int64_t channels,
                   Rules& rules) {
  const bool together = plan.vectorize == WeightVectors::kKernelWidth;
  const std::int64_t lanes = m.isa.lanes(), taps = together ? 1 : plan.registerTaps,
                     all = together ? channels * v.kernel.w : channels, width = plan.registerVectors * lanes;
  for (const std::int64_t count : {width, all % width}) {  // and of the last block
    const std::int64_t vectors = divUp(count, lanes);
    MicrokernelRegisters sums;
    sums.accumulators = plan.registerRows * taps * vectors;
    sums.vectorsB = plan.vectorize == WeightVectors::kTransposed ? vectors : taps * vectors;
    sums.masks = count % lanes != 0 || (together && tapsLeaveRows(v));
    sums.pairsB = plan.dotProducts && !plan.packsVectors();
    sums.singles = pixelPairs(v, plan.dotProducts) == PixelPairs::kColumns;
    requireRegisters(rules, sums, m.isa, "register_rows x register_taps x register_vectors");
  }
}

// Sums in the tiles of a matrix unit.
void matrixUnitRules(const Problem& p, const DirectWeightsPlan& plan, const Machine& m, Rules& rules) {
  const ConvView v = makeConvView(p, Pass::kDw);
  rules.require(m.isa.matrixProduct(v.big.dtype) != nullptr && dotApplies(p, Pass::kDw, v.big.dtype), [&] {
    return std::string("matrix_unit must be false: ") + toString(m.isa.level) + " multiplies no pairs of " +
           toString(v.big.dtype) + " in tiles, or the other operand is of another type";
  });
  rules.require(plan.vectorize == WeightVectors::kTransposed && plan.dotProducts && plan.packA && plan.packsVectors(),
                "matrix_unit needs vectorize = transposed, dot_products, pack_a and pack_b = block");
  rules.require(plan.registerTaps == 1 && plan.unroll == DirectWeightsPlan().unroll,
                "register_taps must be 1 and unroll 4: matrix_unit has steps of its own");
  rules.require(kAmxBf16.holds(rowTiles(plan.registerRows), plan.registerVectors), [&] {
    return "a register block of " + std::to_string(plan.registerRows) + " rows x " +
           std::to_string(plan.registerVectors) + " vectors takes more than 8 tiles with its operands";
  });
  rules.require(!v.big.plain() || v.stride.w == 1, [&] {
    return "matrix_unit must be false: columns of " + std::string(v.bigIsX ? "x" : "dy") + ", which is plain, lie " +
           std::to_string(v.stride.w) + " apart";
  });
  const std::int64_t products = flatSums(v, plan.reduction).steps;
  rules.require(products <= kLongestChain, [&] {
    return "a reduction block has " + std::to_string(products) + " products of tiles, more than " +
           std::to_string(kLongestChain) + " in a row: lower reduction_n, reduction_d or reduction_h";
  });
}

void shapeRules(const Problem& p, const DirectWeightsPlan& plan, const Machine& m, Rules& rules) {
  const ConvView v = makeConvView(p, Pass::kDw);
  const bool operandsTransposed = plan.vectorize == WeightVectors::kTransposed;
  const TensorView &lane = operandsTransposed ? v.small : v.big, &row = operandsTransposed ? v.big : v.small;
  if (plan.matrixUnit)
    matrixUnitRules(p, plan, m, rules);
  else
    registerRules(v, plan, m, lane.channels, rules);
  rules.require(!plan.packsOnFirstUse() || (v.taps() == 1 && plan.order == IterateOrder::kPixelsOuter),
                "pack_b = first_use needs one tap and order = pixels_outer: each block of vectors is copied once");
  const std::int64_t width = plan.registerVectors * m.isa.lanes();
  rules.require(lane.vectorsInPlace(m.isa.lanes(), width) || plan.packsVectors(),
                "pack_b must be block: the vector operand is not f32, f16 or bf16, channels-last or in blocks of whole "
                "vectors that tiles do not straddle");
  rules.require(
      (row.scalarsInPlace(plan.registerRows) && !plan.dotProducts) || plan.packA,
      "pack_a must be true: the row operand is not f32, plain, channels-last or in blocks that tiles of rows do not "
      "straddle");
  if (plan.vectorize == WeightVectors::kKernelWidth) tapRules(v, plan, m, rules);
  rules.require(!plan.bufferC || plan.reductionParts == 1,
                "reduction_parts must be 1 when buffer_c is true: a task unpacks only complete sums");
  const std::int64_t scratchRow = v.taps() * plan.registerVectors * m.isa.lanes() * 4;
  requireReach(rules, "a register block of dw", plan.registerRows * std::max(scratchRow, lane.channels * 4));
  if (!plan.packA && !row.channelsLast)
    requireReach(rules, "rows of a register block", row.channelOffset(plan.registerRows));
  const std::int64_t columns = std::min<std::int64_t>(34, v.small.extent.w);
  requireReach(rules, "columns of a step",
               (columns - 1) * v.stride.w * v.big.wStride + plan.registerTaps * v.dilation.w * v.big.wStride +
                   std::max(width * 4, plan.packsVectors() ? 0 : lane.channelOffset(width)));
}

void prefetchRules(const Problem& p, const DirectWeightsPlan& plan, const Machine& m, Rules& rules) {
  if (plan.prefetchResults) return;
  const bool stores = plan.vectorize == WeightVectors::kChannels &&
                      storesSumsDirectly(makeConvView(p, Pass::kDw), plan, formatOf(p, TensorId::kDw).dtype, m.isa);
  rules.require(stores, "prefetch_results must be true: only kernels that store sums into dw itself prefetch results");
}

}  // namespace

void directWeightsRules(const Problem& core, const DirectWeightsPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, Pass::kDw, machine, plan.dotProducts && !plan.matrixUnit, true);
  prefetchRules(core, plan, machine, rules);
  rules.require(!plan.packsOnFirstUse() || plan.vectorize != WeightVectors::kKernelWidth,
                "pack_b must not be first_use: only vectorize = channels or transposed has it");
  shapeRules(core, plan, machine, rules);
  requireReductionBlocks(rules, core, plan.reduction);
  const PartialSums sums = sumsOf(makeConvView(core, Pass::kDw), plan);
  requireShortSums(rules, sums, plan.reductionParts);
  rules.require(!plan.packsOnFirstUse() || sums.chainsOfBlock() == 1, [&] {
    return "pack_b must not be first_use: its reduction blocks have at most " + std::to_string(kLongestChain) +
           " pixels; lower reduction_n, reduction_d or reduction_h";
  });
}

}  // namespace cubejit
