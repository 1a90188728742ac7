// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a data-gradient plan costs whose lanes are channels of dY and are summed at the end.
#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/panels.h"
#include "algorithms/direct_data/rates.h"
#include "algorithms/direct_data/sums.h"

namespace cubejit {
namespace {

// Pixels of dY along an axis that so many results side by side reach, of one residue class.
double pixelsReached(const ConvView& v, int axis, std::int64_t results) {
  const std::int64_t taps = v.bigIsX ? divUp(v.kernel[axis], v.stride[axis]) : v.kernel[axis],
                     step = v.bigIsX ? 1 : v.stride[axis],
                     span = (results - 1) * step + (taps - 1) * v.dilation[axis] + 1;
  return static_cast<double>(std::min(results * taps, span));
}

}  // namespace

PlanCost inputChannelCost(const Problem& problem, const DirectDataPlan& plan, const Machine& m) {
  const ConvView v = makeConvView(problem, Pass::kDx);
  const TensorView &result = v.bigIsX ? v.big : v.small, &operand = v.bigIsX ? v.small : v.big;
  const DataSums total =
      dataSums(v, v.oneAxis ? std::array<std::int64_t, 3>{1, 1, plan.registerW}
                            : std::array<std::int64_t, 3>{plan.registerD, plan.registerH, plan.registerW});
  const double lanes = m.isa.lanes(), channels = static_cast<double>(result.channels);
  const double words = static_cast<double>(operand.words(plan.dotProducts));
  const double vectors = std::ceil(words / lanes);
  const double copies = static_cast<double>(v.batch * v.groups);
  const double passes = total.passes * copies, rows = total.rows * copies;
  const double meanRows = passes > 0 ? rows / passes : 1;
  PlanCost cost;
  const double step = std::max(
      {fmaCycles(m, meanRows * channels, plan.dotProducts), loadCycles(m, meanRows + channels, 0), kSumLatency});
  const double results = total.results * copies * channels;
  cost.computeCycles = passes * vectors * step;
  // Lines of dY are asked for ahead, and come from L2 once a box; for each of its rows of taps if L1 keeps only the pixels of a tap, or for every
  // tap, where those that share sets push each other out; not at all if it keeps a cache block's. Weights that it does not keep come for every box.
  const double rowsOfBox = static_cast<double>(plan.registerW * plan.registerH * plan.registerD),
               reach = pixelsReached(v, 0, plan.registerD) * pixelsReached(v, 1, plan.registerH),
               box = reach * pixelsReached(v, 2, plan.registerW) * words * 4,
               weights = static_cast<double>(v.taps()) * words * channels * 4, vectorBytes = lanes * 4;
  const double cacheBytes = static_cast<double>(plan.cache.h + v.kernel.h) *
                            static_cast<double>(plan.cache.d + v.kernel.d) *
                            static_cast<double>(v.oneAxis ? 1 : operand.extent.w) * words * 4;
  const bool keepsTap = rowsOfBox * words * 4 <= keptByL1(m), keepsBox = box <= keptByL1(m);
  if (cacheBytes > keptByL1(m)) {
    const bool crowded =
        !keepsTap && !plan.packA && 2 * rowsOfBox > linesOfL1(m, pitchAlongW(v, !v.bigIsX), 2 * rowsOfBox);
    const double lines = keepsBox   ? total.blocks * copies * reach * static_cast<double>(plan.registerW)
                         : keepsTap ? rows / pixelsReached(v, 2, 1)
                                    : rows;
    cost.computeCycles +=
        lines * vectors * (vectorBytes / m.rates.l2BytesPerCycle + (crowded ? kCrowdedVectorCycles : 0));
  }
  if (weights + box > keptByL1(m))
    cost.computeCycles += kExposedWeights * passes * vectors * channels * vectorBytes / bytesPerCycle(m, weights, true);
  cost.callCycles = passes * segmentCycles(m) / (vectors <= 4 ? static_cast<double>(v.kernel.w) : 1.0) +
                    total.blocks * copies * kCallCycles / 4.0 + results * kLaneSumCycles;
  const double operandBytes = static_cast<double>(operand.bytes),
               reread = overlap(v, plan.cache.h, 1) * overlap(v, plan.cache.d, 0);
  // Asking ahead hides lines of the next rows, not those of the next planes (Zen 5, 3x3x3 layers of 1 to 4 channels to 16 to 64: dY of 17 to 75 MB takes
  // 9 to 25 cycles a line more than dY of 2 to 5 MB, which is mostly predicted within a tenth).
  if (!plan.packA && farVolume(v, operand, m))
    cost.computeCycles += operandBytes / 64.0 * overlap(v, plan.cache.d, 0) * kFarLineCycles;
  cost.memoryCycles =
      (plan.packA ? 0.0 : operandBytes) *
          (cacheBytes <= 0.7 * static_cast<double>(m.buffers.l1Bytes) ? overlap(v, plan.cache.d, 0) : reread) /
          bytesPerCycle(m, operandBytes / m.cores, true) +
      1.5 * static_cast<double>(result.bytes) / bytesPerCycle(m, static_cast<double>(result.bytes), true);
  // Partial sums wait in the panel, a vector for each result: written and read again, from where the cache block's panel lies.
  const double cacheResults = static_cast<double>((v.bigIsX ? v.stride.h : 1) * plan.cache.h) *
                              static_cast<double>((v.bigIsX ? v.stride.d : 1) * plan.cache.d) *
                              static_cast<double>(v.oneAxis ? 1 : result.extent.w) * channels;
  const double far = bytesPerCycle(m, std::min(cacheResults, results) * lanes * 4, false);
  cost.memoryCycles += 2.0 * results * lanes * 4 * (1.0 / far - 1.0 / m.rates.l2BytesPerCycle);
  const int along = v.oneAxis ? 2 : 1;
  const double cacheBlocksH =
      static_cast<double>(result.extent[along]) / static_cast<double>((v.bigIsX ? v.stride[along] : 1) * plan.cache.h);
  const double cacheBlocksD =
      std::ceil(static_cast<double>(result.extent.d) / static_cast<double>((v.bigIsX ? v.stride.d : 1) * plan.cache.d));
  double classes = 1;
  const double cacheBlocks = copies * cacheBlocksD * std::ceil(cacheBlocksH);
  for (int axis = 0; v.bigIsX && axis < 3; ++axis)
    classes *= static_cast<double>(std::min(v.stride[axis], v.kernel[axis]));
  cost.callCycles += cacheBlocks * classes * kClassOfBlockCycles;
  if (plan.packA)
    cost.moveCycles = operandPanelCycles(operand, plan.dotProducts, m) * reread +
                      cacheBlocks * planesApart(operand) * kPlaneRunCycles;
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      0.1 * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = partitionCycles(v, busy, copies * cacheBlocksD, cacheBlocksH, m, kSmallTaskCycles);
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory" : "compute";
  return cost;
}

}  // namespace cubejit
