// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a data-gradient plan with channel lanes costs: FMA slots with their tails, loads, what streams from which cache,
// packing and panels, calls. Rates come from the machine; the constants in host_shape.h were measured on Zen4.
#include <array>
#include <cmath>

#include "cubejit/axis_phases.h"
#include "cubejit/conv_view.h"
#include "tiling/data_candidates.h"
#include "tiling/host_shape.h"

namespace cubejit {
namespace {

// Sums over all blocks and taps of one axis.
struct AxisSums {
  double blocks = 0, visits = 0, rows = 0;  ///< blocks; (block, tap) pairs; rows those pairs cover
  double results = 0;
};

AxisSums sumAxis(const AxisRelation& rel, std::int64_t block) {
  AxisSums s;
  for (const AxisPhase& phase : axisPhases(rel)) {
    s.blocks += static_cast<double>(divUp(phase.count, block));
    s.results += static_cast<double>(phase.count);
    for (const BlockTap& tap : phase.taps) {
      s.visits += static_cast<double>((tap.hi - 1) / block - tap.lo / block + 1);
      s.rows += static_cast<double>(tap.hi - tap.lo);
    }
  }
  return s;
}

AxisSums sumAxes(const ConvView& v, const TensorView& result, const TensorView& operand, const TilingPlan& plan) {
  const std::array<std::int64_t, 3> block = v.line ? std::array<std::int64_t, 3>{1, 1, plan.baseW}
                                                   : std::array<std::int64_t, 3>{plan.baseD, plan.baseH, plan.baseW};
  AxisSums total{1, 1, 1, 1};
  for (int a = 0; a < 3; ++a) {
    const AxisSums s = sumAxis(
        AxisRelation{v.bigIsX, result.extent[a], operand.extent[a], v.kernel[a], v.stride[a], v.dilation[a], v.pad[a]},
        block[static_cast<std::size_t>(a)]);
    total = AxisSums{total.blocks * s.blocks, total.visits * s.visits, total.rows * s.rows, total.results * s.results};
  }
  return total;
}

// How many times over a slab's operand rows are read, because neighbours need them too.
double overlap(const ConvView& v, std::int64_t panel, int axis) {
  const double reach = static_cast<double>((v.kernel[axis] - 1) * v.dilation[axis]) /
                       (v.bigIsX ? static_cast<double>(v.stride[axis]) : 1.0);
  return 1 + reach / (static_cast<double>(panel) * (v.bigIsX ? 1.0 : static_cast<double>(v.stride[axis])));
}

// Cycles of filling a panel of dY once. A pixel takes whole vectors, and so does a channel that is paired with zero.
double operandPanelCycles(const TensorView& operand, const TilingPlan& plan, const Machine& m) {
  const double alone = plan.dotProducts && operand.channels % 2 != 0 ? 1.0 : 0.0;
  double vectors = panelVectors(operand);
  if (operand.channelsLast) {
    const double pixels =
        static_cast<double>(operand.bytes / byteSize(operand.dtype)) / static_cast<double>(operand.channels);
    vectors = pixels * (std::ceil(static_cast<double>(operand.channels) / 16.0) + alone);
  }
  return vectors * panelCycles(operand, m);
}

}  // namespace

PlanCost dataReducedCost(const Problem& problem, const TilingPlan& plan, const Machine& m) {
  const ConvView v = makeConvView(problem, Gradient::kDx);
  const TensorView &result = v.bigIsX ? v.big : v.small, &operand = v.bigIsX ? v.small : v.big;
  const AxisSums total = sumAxes(v, result, operand, plan);
  const double lanes = m.isa.lanes(), channels = static_cast<double>(result.channels);
  const double words = static_cast<double>(operand.words(plan.dotProducts));
  const double vectors = std::ceil(words / lanes);
  const double copies = static_cast<double>(v.batch * v.groups);
  const double visits = total.visits * copies, rows = total.rows * copies;
  const double meanRows = visits > 0 ? rows / visits : 1;
  PlanCost cost;
  const double step =
      std::max({meanRows * channels / m.rates.fmaPerCycle, (meanRows + channels) * m.rates.vectorLoadCycles, 4.0});
  const double results = total.results * copies * channels;
  cost.computeCycles = visits * vectors * step / vectorsAtOnce(m);  // lines of dY are asked for ahead
  // A block and the two asked for ahead, on every row the kernel reaches.
  const double streams =
      static_cast<double>(v.kernel.d * v.kernel.h) * 3.0 * static_cast<double>(plan.baseW) * words * 4;
  if (streams > 0.75 * static_cast<double>(m.buffers.l0aBytes)) cost.computeCycles *= kCrowdedStreams;
  cost.callCycles = visits * kSegmentCycles / (vectors <= 4 ? static_cast<double>(v.kernel.w) : 1.0) +
                    total.blocks * copies * kCallCycles / 4.0 + results * kLaneSumCycles;
  const double slabBytes = static_cast<double>(plan.panelH + v.kernel.h) *
                           static_cast<double>(plan.panelD + v.kernel.d) *
                           static_cast<double>(v.line ? 1 : operand.extent.w) * words * 4;
  const double operandBytes = static_cast<double>(operand.bytes),
               reread = overlap(v, plan.panelH, 1) * overlap(v, plan.panelD, 0);
  cost.memoryCycles =
      (plan.panelA ? 0.0 : operandBytes) *
          (slabBytes <= 0.7 * static_cast<double>(m.buffers.l1Bytes) ? overlap(v, plan.panelD, 0) : reread) /
          bytesPerCycle(m, operandBytes, true) +
      1.5 * static_cast<double>(result.bytes) / bytesPerCycle(m, static_cast<double>(result.bytes), true);
  // Partial sums wait in the panel, a vector for each result: written and read again, from where the slab's panel lies.
  const double slabResults = static_cast<double>((v.bigIsX ? v.stride.h : 1) * plan.panelH) *
                             static_cast<double>((v.bigIsX ? v.stride.d : 1) * plan.panelD) *
                             static_cast<double>(v.line ? 1 : result.extent.w) * channels;
  const double far = bytesPerCycle(m, std::min(slabResults, results) * lanes * 4, false);
  cost.memoryCycles += 2.0 * results * lanes * 4 * (1.0 / far - 1.0 / m.rates.l2BytesPerCycle);
  if (plan.panelA)
    cost.moveCycles = operandBytes * reread *
                      std::max((operand.channelsLast ? m.rates.copyCycles : m.rates.transposeCycles) / 64.0,
                               1.0 / bytesPerCycle(m, operandBytes, true));
  const double slabsH =
      static_cast<double>(result.extent.h) / static_cast<double>((v.bigIsX ? v.stride.h : 1) * plan.panelH);
  const double slabsD =
      std::ceil(static_cast<double>(result.extent.d) / static_cast<double>((v.bigIsX ? v.stride.d : 1) * plan.panelD));
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      0.1 * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = dealtCycles(v, busy, copies * slabsD, slabsH, m, kTaskCycles);
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory" : "compute";
  return cost;
}

PlanCost dataChannelCost(const Problem& problem, const TilingPlan& plan, const Machine& m) {
  const bool line = makeConvView(problem, Gradient::kDx).line;
  const ConvView v = makeConvView(problem, Gradient::kDx, true);
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::array<std::int64_t, 3> block = line ? std::array<std::int64_t, 3>{1, plan.baseW, 1}
                                                 : std::array<std::int64_t, 3>{plan.baseD, plan.baseH, plan.baseW};
  AxisSums total{1, 1, 1, 1};
  for (int a = 0; a < 3; ++a) {
    const AxisSums s = sumAxis(
        AxisRelation{gather, result.extent[a], operand.extent[a], v.kernel[a], v.stride[a], v.dilation[a], v.pad[a]},
        block[static_cast<std::size_t>(a)]);
    total = AxisSums{total.blocks * s.blocks, total.visits * s.visits, total.rows * s.rows, total.results * s.results};
  }
  const double lanes = m.isa.lanes(), vectors = static_cast<double>(plan.baseVectors);
  // A dot product takes two reduced channels.
  const double reduced = static_cast<double>(operand.words(plan.dotProducts)),
               channels = static_cast<double>(result.channels);
  const double nBlocks = std::ceil(channels / (lanes * vectors));
  const double realVectors = std::ceil(channels / lanes);
  const double images = static_cast<double>(v.batch), groups = static_cast<double>(v.groups), cores = m.cores;
  const double boxImages = static_cast<double>(std::max<std::int64_t>(1, plan.baseBatch));
  const double imageBlocks = std::ceil(images / boxImages);

  PlanCost cost;
  const double visits = total.visits * imageBlocks * groups;  // per vector block
  const double rows = total.rows * images * groups;
  const double meanRows = visits > 0 ? rows / visits : 1;
  const double meanVectors = realVectors / nBlocks;
  // One reduction step of one visit: FMAs, loads, and at least the latency.
  // Taps that share scalars reach neighbouring columns of dY.
  const int lineAxis = line ? 1 : 2;
  const double taps =
      std::min(static_cast<double>(plan.baseTapsW),
               static_cast<double>(divUp(v.kernel[lineAxis], gather ? v.stride[lineAxis] : std::int64_t{1})));
  const double columns = static_cast<double>(plan.baseW),
               shared = taps > 1 ? (columns + taps - 1) / (columns * taps) : 1.0;
  const double loads = meanVectors * m.rates.vectorLoadCycles + meanRows * shared * m.rates.broadcastCycles;
  const double step = std::max({meanRows * meanVectors / m.rates.fmaPerCycle, loads, 4.0});
  cost.computeCycles = visits * nBlocks * reduced * step / vectorsAtOnce(m) * 1.01;
  const double calls = total.blocks * imageBlocks * groups * nBlocks;
  const double boxRows = static_cast<double>(plan.baseW * plan.baseH * plan.baseD) * boxImages;
  // Lines of dY come from beyond L1, one stream a row: what the core cannot hide of them. Lines of weights are one long stream.
  const bool blocks = !plan.panelA && operand.c0 > 0;
  cost.computeCycles += rows * nBlocks * reduced / 16.0 * (blocks ? kBlockLineCycles : kRowLineCycles);
  // More result lines at once than the core can wait for.
  const double vectorBytes = lanes * (plan.panelC ? 4.0 : static_cast<double>(byteSize(result.dtype)));
  const double boxLines = boxRows * std::max(1.0, meanVectors * vectorBytes / 64.0);
  const double resultLines = boxLines > m.rates.missBuffers ? kCrowdedLineCycles : kResultLineCycles;
  cost.callCycles =
      visits / taps * nBlocks * kSegmentCycles + calls * (20.0 + boxLines * resultLines) +
      calls * kCallCycles / (line ? 8.0 : std::max(1.0, static_cast<double>(divUp(result.extent.w, plan.baseW)) / 2.0));
  // Streams: packed weights once per box, pixels once per vector block.
  const double packed = static_cast<double>(v.taps()) * reduced * nBlocks * vectors * lanes * 4;
  const double perBlock = packed / nBlocks;
  const double operandBytes = static_cast<double>(operand.bytes), resultBytes = static_cast<double>(result.bytes);
  const double slabOperand =
      static_cast<double>(plan.panelH) * static_cast<double>(line ? 1 : operand.extent.w) * reduced * 4;
  const double parts = static_cast<double>(plan.cores.batch);
  const std::int64_t along = result.extent.h;
  const double step2 = gather ? static_cast<double>(v.stride.h) : 1.0;
  const double slabsH = static_cast<double>(along) / step2 / static_cast<double>(plan.panelH);
  const double slabsD = std::ceil(static_cast<double>(result.extent.d) /
                                  (gather ? static_cast<double>(v.stride.d) : 1.0) / static_cast<double>(plan.panelD));
  const double slabs = std::ceil(slabsH) * slabsD;
  double memory = 0;
  // A block's weights serve every box of the slab in turn: those that L1 keeps beside a box, and the lines that pass, come once.
  const double box = boxRows * (reduced * 4 + meanVectors * vectorBytes);
  const bool near = perBlock + box <= kKeptWeights * keptByL1(m);
  const double weightStream =
      near ? groups * imageBlocks * slabs * packed : visits * nBlocks * reduced * vectors * lanes * 4;
  if (plan.panelB) {
    const double among = perBlock + (plan.panelA ? slabOperand : operandBytes / groups / parts);
    memory += weightStream / bytesPerCycle(m, std::min(among, perBlock * 1.3), false);
    memory += operandBytes * nBlocks / bytesPerCycle(m, plan.panelA ? slabOperand : among, true);
  } else if (plan.order == IterateOrder::kPixelsOuter) {
    memory += weightStream / bytesPerCycle(m, packed + slabOperand, true);
    memory += operandBytes / bytesPerCycle(m, operandBytes / cores, true);
    memory += operandBytes * (nBlocks - 1) / bytesPerCycle(m, slabOperand, false);
  } else {
    memory += weightStream / bytesPerCycle(m, perBlock + slabOperand, true);
    if (plan.panelA || plan.panelC)  // every slab sees all blocks in turn
      memory += groups * imageBlocks * slabs * packed / bytesPerCycle(m, packed * groups, true);
    memory += operandBytes * nBlocks /
              bytesPerCycle(m, plan.panelA || plan.panelC ? slabOperand : operandBytes / cores + perBlock, true);
  }
  if (farOperand(v, operand, m) && !plan.panelA) {
    // Planes that several planes of results read come again, from where as many planes stay; results pass through there as well.
    const double planes =
        operandBytes / images / static_cast<double>(operand.extent.d) * static_cast<double>(v.kernel.d * v.dilation.d);
    const double again = overlap(v, plan.panelD, 0);
    memory += operandBytes * (again - 1.0) / bytesPerCycle(m, 2.0 * planes, true);
    const double sweeps = plan.order == IterateOrder::kChannelsOuter ? nBlocks : 1.0;
    cost.computeCycles += operandBytes / 64.0 * again * overlap(v, plan.panelH, 1) * sweeps *
                          (plan.prefetch == Prefetch::kOperands ? kAskedLineCycles : kFarLineCycles);
  }
  // Blocks of part of a line that do not follow each other move the line each time.
  const bool sweeps =
      !plan.panelC && result.c0 == 0 && nBlocks > 1 && (plan.panelB || plan.order == IterateOrder::kChannelsOuter);
  const double lines = sweeps ? std::max(1.0, 64.0 / (vectors * vectorBytes)) : 1.0;
  memory += 1.5 * resultBytes * lines / bytesPerCycle(m, resultBytes, true);
  // L1 set conflicts: rows of the box whose pitch is a multiple of 2 or 4 KiB compete for 8 ways.
  if (!plan.panelA && operand.wStride % 2048 == 0) {
    const double sets = operand.wStride % 4096 == 0 ? 1.0 : 2.0;
    if (boxRows / sets > 7.0) cost.computeCycles *= 1.5;
  }
  cost.memoryCycles = memory;
  const double packMoves =
      plan.packWeights
          ? packed * groups / 64.0 * (v.taps() == 1 && gather ? m.rates.copyCycles : m.rates.transposeCycles)
          : 0;
  double moves = packMoves * (plan.panelB ? parts : 1.0);
  const double fromWeights = static_cast<double>(v.taps()) * reduced * channels * groups * 4;
  if (plan.packWeights) {  // shared: read, written past the caches of this core, read again
    moves += (plan.panelB ? parts : 5.0) * fromWeights / bytesPerCycle(m, 2 * fromWeights, true);
  }
  if (!plan.panelB) cost.packCycles = moves;
  if (plan.panelA) {
    const double reach =
        static_cast<double>((v.kernel.h - 1) * v.dilation.h) / (gather ? static_cast<double>(v.stride.h) : 1.0);
    const double own = static_cast<double>(plan.panelH) * (gather ? 1.0 : static_cast<double>(v.stride.h));
    const double reachD =
        static_cast<double>((v.kernel.d - 1) * v.dilation.d) / (gather ? static_cast<double>(v.stride.d) : 1.0);
    const double ownD = static_cast<double>(plan.panelD) * (gather ? 1.0 : static_cast<double>(v.stride.d));
    moves +=
        operandPanelCycles(operand, plan, m) * (1 + reach / own) * (1 + reachD / ownD) * (plan.panelB ? nBlocks : 1.0);
  }
  if (plan.panelC) moves += panelVectors(result) * (panelCycles(result, m) + 2.0);
  // A slab's moves are calls, one for each block of channels.
  const double slabVisits = groups * imageBlocks * slabs * (plan.panelB ? nBlocks : 1.0);
  moves +=
      slabVisits * kCallCycles * ((plan.panelA ? panelPieces(operand) : 0) + (plan.panelC ? panelPieces(result) : 0));
  cost.moveCycles = moves;
  double copies = groups * imageBlocks * slabsD, pieces = slabsH;
  if (plan.panelB) {
    copies = groups * nBlocks * parts;
    pieces = 1;
  } else if (plan.order == IterateOrder::kChannelsOuter && !plan.panelA && !plan.panelC) {
    copies *= nBlocks;
  }
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = dealtCycles(v, busy, copies, pieces, m,
                                 std::min(kTaskCycles, kSmallTaskCycles + packed / 64.0 * kColdLineCycles));
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
  return cost;
}

}  // namespace cubejit
