// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan of dX with groups side by side costs: multiply-accumulates with idle lanes, loads, permutes, streams, panels, calls.
#include <algorithm>
#include <cmath>

#include "algorithms/grouped/cost.h"
#include "algorithms/grouped/grouped.h"

namespace cubejit {
namespace {

// What `run` results of an axis take, by `taps` neighbouring taps: pairs, and positions of the operand.
struct Visit {
  double pairs = 1, positions = 1;
};

Visit passOf(const ConvView& v, double run, double taps, int axis) {
  const double stride = static_cast<double>(v.stride[axis]), dilation = static_cast<double>(v.dilation[axis]);
  if (!v.bigIsX) return {run * taps, reached(run, taps, stride, dilation)};
  const double pairs = std::max(1.0, run * taps / stride);
  return {pairs, std::min(pairs, (run + (taps - 1) * dilation) / stride)};
}

// Beside a transpose, of a vector of packed weights: they lie a tap apart (measured on Zen5: 20 in all, 26 with 512 taps).
constexpr double kCellPackCycles = 12.0;

// Bytes of the operand that come from L2 after their first use. Blocks of rows read a row again for each of their neighbours, and
// for each plane of taps; neighbours find it in L1 where all that one of them reads and writes stays there.
double rereadBytes(const GroupedShape& s, const GroupedDataPlan& plan, double rows, const Machine& m) {
  const ConvView& v = s.view;
  const double planes = static_cast<double>(std::min(v.kernel.d, s.operand.extent.d));
  const auto rowBytes = [&](const TensorView& t, bool panel) {
    const bool one = t.c0 > 0 && plan.order == IterateOrder::kChannelsOuter;  // block at a time
    return static_cast<double>(t.extent.w * (one ? 1 : s.blocks) * m.isa.lanes()) *
           static_cast<double>(panel ? 4 : byteSize(t.dtype));
  };
  const double touched = rowBytes(s.operand, plan.packA) * static_cast<double>(s.permutedChannels) * rows * planes +
                         rowBytes(s.result, buffersResults(s.result, m.isa)) * static_cast<double>(plan.registerH);
  const double step = v.bigIsX ? static_cast<double>(v.stride.h) : 1.0;
  const double passes = touched > keptByL1(m) ? std::max(1.0, rows / static_cast<double>(plan.registerH) * step) : 1.0;
  return static_cast<double>(s.operand.bytes) * (passes * planes - 1.0);
}

// Share of the operand's rows that two cache blocks read, on two cores if need be.
double sharedByCacheBlocks(const GroupedShape& s, const GroupedDataPlan& plan) {
  const ConvView& v = s.view;
  if (v.oneAxis || plan.cache.h >= s.result.extent.h) return 0.0;
  return static_cast<double>((v.kernel.h - 1) * v.dilation.h) / static_cast<double>(plan.cache.h);
}

// Calls of a block of channels, whose columns are innermost: a kernel goes down one by itself, but for its edges. Blocks that do not begin at the
// same place modulo the stride take turns with others, and each is a call.
double columnCalls(const GroupedShape& s, const GroupedDataPlan& plan, double rows, double runs) {
  const ConvView& v = s.view;
  const std::int64_t stride = v.oneAxis ? v.stride.w : v.stride.h, each = v.oneAxis ? plan.registerW : plan.registerH;
  if (v.bigIsX && each % stride != 0) return rows * runs;
  const double planes = static_cast<double>(v.batch * s.result.extent.d);
  return std::min(planes * (v.oneAxis ? 4.0 : runs * 3.0), rows * runs);
}

}  // namespace

PlanCost groupedDataCost(const Problem& problem, const GroupedDataPlan& plan, const Machine& m) {
  const GroupedShape s = groupedShape(problem, Pass::kDx, m.isa.lanes(), plan.dotProducts);
  const ConvView& v = s.view;
  const double perCycle = vectorsAtOnce(m);
  const double images = static_cast<double>(v.batch), blocks = static_cast<double>(s.blocks),
               channels = static_cast<double>(s.permutedChannels);
  const double fmas = validPairs(v) * images * blocks * channels;
  const double run = static_cast<double>(plan.registerW),
               taps = static_cast<double>(std::min(plan.registerTaps, v.kernel.w));
  const double tapsHigh = static_cast<double>(v.kernel.h);
  // Per pass of a run of taps over a run of results; a row of the operand that is read serves `uses` rows of the block.
  const Visit along = passOf(v, run, taps, 2), down = passOf(v, static_cast<double>(plan.registerH), tapsHigh, 1);
  const double positions = along.positions, uses = down.pairs / down.positions;
  const double passes = fmas / (along.pairs * uses);
  const double loads = passes * (positions + taps * uses);
  const double results = static_cast<double>(s.result.extent.volume()) * images * blocks;
  PlanCost cost;
  const double conversions = plan.packA || plan.dotProducts ? 0 : convertedVectors(s.operand, passes * positions);
  const bool bufferC = buffersResults(s.result, m.isa);
  cost.computeCycles =
      std::max(arithmeticCycles(fmas, (s.permuted ? passes * positions : 0) + conversions, m, plan.dotProducts),
               loads * m.rates.vectorLoadCycles) /
          perCycle +
      (results * 1.2 + (bufferC ? 0 : convertedVectors(s.result, results))) / perCycle;
  const double rows = static_cast<double>(s.result.extent.d * divUp(s.result.extent.h, plan.registerH)) * images,
               runs = std::ceil(static_cast<double>(s.result.extent.w) / run);
  const bool tail = v.groups % s.perBlock != 0;
  const bool columns = plan.order == IterateOrder::kChannelsOuter && !plan.packA && !bufferC;
  const double calls =
      columns ? columnCalls(s, plan, rows, runs) * blocks
              : rows * runs * static_cast<double>(std::min(plan.groupParts, s.blocks)) * (tail ? 2.0 : 1.0);
  cost.callCycles = calls * kCallCycles +
                    rows * runs * blocks *
                        (14.0 + kSegmentCycles * static_cast<double>(v.kernel.d * v.kernel.h * plan.registerH) / uses);
  // A burst of stores longer than the store queue stalls the next run (measured: 27 pixels a run cost 20 % on a 3-tap kernel).
  if (run * static_cast<double>(plan.registerH) * m.rates.vectorStoreCycles > 32)
    cost.callCycles += results * m.rates.vectorStoreCycles / perCycle;
  const double operandBytes = static_cast<double>(s.operand.bytes), resultBytes = static_cast<double>(s.result.bytes);
  const double tensors = operandBytes + resultBytes;
  const double rate = bytesPerCycle(m, tensors / m.cores, true);
  // Walking one line out of each pixel defeats the prefetchers once data comes from DRAM, and half a line brings the other half too.
  const double lines = 64.0 / std::min(64.0, static_cast<double>(m.isa.lanes() * byteSize(s.operand.dtype)));
  const bool across = columns && blocks > 1 && (s.operand.c0 == 0 || s.result.c0 == 0);
  const double strided = across ? lines * (rate < m.rates.l2BytesPerCycle ? 1.8 : 1.1) : 1.0;
  cost.memoryCycles = (operandBytes * (1.0 + sharedByCacheBlocks(s, plan)) + 1.5 * resultBytes) / rate * strided;
  cost.memoryCycles += rereadBytes(s, plan, down.positions, m) / m.rates.l2BytesPerCycle;
  cost.moveCycles = blocks * static_cast<double>(v.taps()) * channels * (m.rates.transposeCycles + kCellPackCycles);
  if (plan.packA) {
    const double step = v.bigIsX ? static_cast<double>(v.stride.h) : 1.0;
    const double again = v.oneAxis ? 1.0
                                   : 1.0 + static_cast<double>((v.kernel.h - 1) * v.dilation.h) /
                                               (static_cast<double>(plan.cache.h) / step + 1.0);
    const double againD = 1.0 + static_cast<double>((v.kernel.d - 1) * v.dilation.d) /
                                    (static_cast<double>(plan.cache.d) + static_cast<double>(v.kernel.d - 1));
    cost.moveCycles += panelMoveCycles(s, plan.groupParts, s.operand, m) * again * againD;
  }
  if (bufferC)
    cost.moveCycles +=
        panelMoveCycles(s, plan.groupParts, s.result, m) * crowdedPlanes(s.result) + 2.0 * panelVectors(s.result);
  double tasks = images * (columns ? blocks : static_cast<double>(std::min(plan.groupParts, s.blocks)));
  tasks *= std::ceil(static_cast<double>(s.result.extent.d) / static_cast<double>(plan.cache.d));
  if (!columns)
    tasks *= std::ceil(static_cast<double>(v.oneAxis ? s.result.extent.w : s.result.extent.h) /
                       static_cast<double>(plan.cache.h));
  finish(cost, m, tasks, spreadOf(tasks, m.cores));
  return cost;
}

}  // namespace cubejit
