// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan with group cells costs: multiply-accumulates with idle lanes, loads, permutes, streams, panels, calls.
// Rates come from the machine; the constants in host_shape.h were measured on Zen4.
#include <cmath>

#include "cubejit/axis_phases.h"
#include "cubejit/unrolled_uses.h"
#include "tiling/cells_candidates.h"
#include "tiling/cells_shape.h"
#include "tiling/chunk_deal.h"

namespace cubejit {
namespace {

// Three FMAs hide a permute; beyond that they share issue slots (performance facts: FMA + permute pairs run at 0.75 a cycle).
double arithmeticCycles(double fmas, double permutes, const Machine& m) {
  return (fmas + std::max(0.0, permutes - fmas / 3.0) * 0.6) / m.rates.fmaPerCycle;
}

// Instructions beside the load, or the store, of a vector where it lies.
double convertedVectors(const TensorView& t, double vectors) { return t.dtype == DType::kF32 ? 0 : 1.5 * vectors; }

// (result, tap) pairs inside the tensors, over all three axes.
double validPairs(const ConvView& v) {
  double pairs = 1;
  for (int a = 0; a < 3; ++a) {
    double along = 0;
    for (const AxisPhase& phase : axisPhases(AxisRelation{true, v.big.extent[a], v.small.extent[a], v.kernel[a],
                                                          v.stride[a], v.dilation[a], v.pad[a]})) {
      for (const BlockTap& tap : phase.taps) along += static_cast<double>(tap.hi - tap.lo);
    }
    pairs *= along;
  }
  return pairs;
}

// Positions of the other tensor that `run` pixels and `taps` taps reach; stride of the run in those positions.
double reached(double run, double taps, double step, double dilation) {
  return std::min(run * taps, (run - 1) * step + (taps - 1) * dilation + 1);
}

// What `run` results of an axis take, by `taps` neighbouring taps: pairs, and positions of the operand.
struct Visit {
  double pairs = 1, positions = 1;
};

Visit visitOf(const ConvView& v, double run, double taps, int axis) {
  const double stride = static_cast<double>(v.stride[axis]), dilation = static_cast<double>(v.dilation[axis]);
  if (!v.bigIsX) return {run * taps, reached(run, taps, stride, dilation)};
  const double pairs = std::max(1.0, run * taps / stride);
  return {pairs, std::min(pairs, (run + (taps - 1) * dilation) / stride)};
}

// Beside a transpose, of a vector of packed weights: they lie a tap apart (measured on Zen5: 20 in all, 26 with 512 taps).
constexpr double kCellPackCycles = 12.0;

// Cycles of filling, or emptying, a panel. Tasks that take less than a line of each pixel bring lines that others bring too.
double panelMoveCycles(const CellsShape& s, const TilingPlan& plan, const TensorView& t, const Machine& m) {
  const std::int64_t piece =
      divUp(s.blocks, plan.cores.groups) * s.perBlock * t.channels * static_cast<std::int64_t>(byteSize(t.dtype));
  const bool narrow = t.channelsLast && plan.cores.groups > 1 && piece < 64;
  return panelVectors(t) * panelCycles(t, m) * (narrow ? 2.0 : 1.0);
}

double spreadOf(double tasks, int cores) {
  return tasks >= 8.0 * cores ? 1.0 + cores / tasks : imbalance(tasks, cores);
}

void finish(PlanCost& cost, const Machine& m, double tasks, double spread) {
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      0.2 * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = busy / m.cores * spread + tasks * 60.0 / m.cores;
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
}

PlanCost dataCost(const CellsShape& s, const TilingPlan& plan, const Machine& m) {
  const ConvView& v = s.view;
  const double perCycle = vectorsAtOnce(m);
  const double images = static_cast<double>(v.batch), blocks = static_cast<double>(s.blocks),
               channels = static_cast<double>(s.cellChannels);
  const double fmas = validPairs(v) * images * blocks * channels;
  const double run = static_cast<double>(plan.baseW), taps = static_cast<double>(std::min(plan.baseTapsW, v.kernel.w));
  const double tapsHigh = static_cast<double>(v.kernel.h);
  // Per visit of a chunk of taps by a run of results; a row of the operand that is visited serves `uses` rows of the block.
  const Visit along = visitOf(v, run, taps, 2), down = visitOf(v, static_cast<double>(plan.baseH), tapsHigh, 1);
  const double positions = along.positions, uses = down.pairs / down.positions;
  const double visits = fmas / (along.pairs * uses);
  const double loads = visits * (positions + taps * uses);
  const double results = static_cast<double>(s.result.extent.volume()) * images * blocks;
  PlanCost cost;
  const double conversions = plan.panelA || plan.dotProducts ? 0 : convertedVectors(s.operand, visits * positions);
  cost.computeCycles = std::max(arithmeticCycles(fmas, (s.permuted ? visits * positions : 0) + conversions, m),
                                loads * m.rates.vectorLoadCycles) /
                           perCycle +
                       (results * 1.2 + (plan.panelC ? 0 : convertedVectors(s.result, results))) / perCycle;
  const double rows = static_cast<double>(s.result.extent.d * divUp(s.result.extent.h, plan.baseH)) * images,
               runs = std::ceil(static_cast<double>(s.result.extent.w) / run);
  const bool tail = v.groups % s.perBlock != 0;
  const bool columns = plan.order == IterateOrder::kChannelsOuter && !plan.panelA && !plan.panelC;
  const double calls =
      columns ? (v.line ? 4.0 : std::min(runs * 3.0, rows * runs) * static_cast<double>(s.result.extent.d)) * images *
                    blocks
              : rows * runs * static_cast<double>(std::min(plan.cores.groups, s.blocks)) * (tail ? 2.0 : 1.0);
  cost.callCycles =
      calls * kCallCycles +
      rows * runs * blocks * (14.0 + kSegmentCycles * static_cast<double>(v.kernel.d * v.kernel.h * plan.baseH) / uses);
  // A burst of stores longer than the store queue stalls the next run (measured: 27 pixels a run cost 20 % on a 3-tap kernel).
  if (run * static_cast<double>(plan.baseH) * m.rates.vectorStoreCycles > 32)
    cost.callCycles += results * m.rates.vectorStoreCycles / perCycle;
  const double operandBytes = static_cast<double>(s.operand.bytes), resultBytes = static_cast<double>(s.result.bytes);
  const double tensors = operandBytes + resultBytes;
  const double rate = bytesPerCycle(m, tensors / m.cores, true);
  // Walking one line out of each pixel defeats the prefetchers once data comes from DRAM, and rows are read again for every tap.
  const double strided = columns && blocks > 1 ? (rate < m.rates.l2BytesPerCycle ? 1.8 : 1.1) : 1.0;
  cost.memoryCycles = (operandBytes + 1.5 * resultBytes) / rate * strided;
  // Rows of the operand that the next block of rows needs again come from L2, unless what lies between stays in L1.
  const double between = static_cast<double>(s.operand.extent.w) * channels * blocks * 64.0 * tapsHigh;
  const double perRow =
      down.positions / static_cast<double>(plan.baseH) * static_cast<double>(v.bigIsX ? v.stride.h : 1);
  if (!columns && between > keptByL1(m))
    cost.memoryCycles += operandBytes * std::max(0.0, perRow - 1.0) / m.rates.l2BytesPerCycle;
  cost.moveCycles = blocks * static_cast<double>(v.taps()) * channels * (m.rates.transposeCycles + kCellPackCycles);
  if (plan.panelA) {
    const double step = v.bigIsX ? static_cast<double>(v.stride.h) : 1.0;
    const double again = v.line ? 1.0
                                : 1.0 + static_cast<double>((v.kernel.h - 1) * v.dilation.h) /
                                            (static_cast<double>(plan.panelH) / step + 1.0);
    const double againD = 1.0 + static_cast<double>((v.kernel.d - 1) * v.dilation.d) /
                                    (static_cast<double>(plan.panelD) + static_cast<double>(v.kernel.d - 1));
    cost.moveCycles += panelMoveCycles(s, plan, s.operand, m) * again * againD;
  }
  if (plan.panelC) cost.moveCycles += panelMoveCycles(s, plan, s.result, m) + 2.0 * panelVectors(s.result);
  double tasks = images * (columns ? blocks : static_cast<double>(std::min(plan.cores.groups, s.blocks)));
  tasks *= std::ceil(static_cast<double>(s.result.extent.d) / static_cast<double>(plan.panelD));
  if (!columns)
    tasks *= std::ceil(static_cast<double>(v.line ? s.result.extent.w : s.result.extent.h) /
                       static_cast<double>(plan.panelH));
  finish(cost, m, tasks, spreadOf(tasks, m.cores));
  return cost;
}

// How much longer pixels take from beyond L2 of which only a unit's lines are read at a time.
double lonelyLines(const CellsShape& s, const TilingPlan& plan, double rate, const Machine& m) {
  if (plan.panelA || s.blocks <= plan.baseVectors || rate >= m.rates.l2BytesPerCycle) return 1.0;
  const double lines = static_cast<double>(plan.baseVectors * s.perBlock * s.laneChannels *
                                           static_cast<std::int64_t>(byteSize(s.view.small.dtype))) /
                       64.0;
  const double share = lines <= 1 ? 1.0 : lines <= 2 ? 0.25 : 0.0;
  return 1.0 + (m.rates.lonelyLines - 1.0) * share;
}

PlanCost weightCost(const CellsShape& s, const TilingPlan& plan, const Machine& m) {
  const ConvView& v = s.view;
  const double perCycle = vectorsAtOnce(m);
  const double images = static_cast<double>(v.batch), blocks = static_cast<double>(s.blocks),
               channels = static_cast<double>(s.cellChannels);
  const double fmas = validPairs(v) * images * blocks * channels;
  const double run = static_cast<double>(plan.unroll), tapsW = static_cast<double>(plan.baseTapsW),
               tapsH = static_cast<double>(plan.baseTapsH);
  const double held = static_cast<double>(std::min(plan.baseRows, s.cellChannels));
  const double width = static_cast<double>(plan.baseVectors), units = std::ceil(blocks / width);  // blocks side by side
  const double positions =
      reached(run, tapsW, static_cast<double>(v.stride.w), static_cast<double>(v.dilation.w)) * tapsH;
  const double pairs = run * tapsW * tapsH * held;
  const double visits = fmas / std::max(1.0, pairs);
  const double cellLoads = (s.bigIsCell ? positions : run) * held;
  double laneLoads = s.bigIsCell ? run : positions;
  const double accumulators = tapsW * tapsH * held * width;
  const double room = (static_cast<double>(usableRegisters(m, true)) - accumulators - (s.permuted ? 4 : 2)) / width;
  if (laneLoads > room)
    laneLoads =
        std::max(0.0, room) + (laneLoads - std::max(0.0, room)) * pairs / std::max(1.0, laneLoads);  // read where used
  PlanCost cost;
  const double inFlight = 4.0 * perCycle * m.rates.fmaPerCycle;
  const double latency = accumulators < inFlight ? inFlight / accumulators : 1.0;
  const TensorView &cell = s.bigIsCell ? v.big : v.small, &lane = s.bigIsCell ? v.small : v.big;
  const double conversions = (plan.panelA ? 0 : convertedVectors(cell, visits * cellLoads)) +
                             (plan.panelB ? 0 : convertedVectors(lane, visits * laneLoads));
  const double loads = visits * (cellLoads + laneLoads) * m.rates.vectorLoadCycles;
  cost.computeCycles =
      (std::max(arithmeticCycles(fmas, (s.permuted ? visits * cellLoads : 0) + conversions, m) * latency, loads) +
       m.rates.exposedLoads * loads) /
      perCycle;
  const ChunkDeal deal(v, plan);
  const double chunks = static_cast<double>(deal.chunks());
  const double tiles = static_cast<double>(v.kernel.d) * std::ceil(static_cast<double>(v.kernel.h) / tapsH) *
                       std::ceil(static_cast<double>(v.kernel.w) / tapsW) * std::ceil(channels / held);
  cost.callCycles =
      std::max(1.0, chunks) * tiles * units * (kCallCycles * 0.7 + 3.0 * accumulators + kSegmentCycles * 3.0);
  const double rowPairs = static_cast<double>(v.small.extent.w) * pairs / run;
  if (rowPairs > static_cast<double>(kUnrolledUses))
    cost.callCycles +=
        images * static_cast<double>(v.small.extent.d * v.small.extent.h) * tiles * units * kSegmentCycles * 3.0;
  const double bytes = static_cast<double>(v.big.bytes + v.small.bytes);
  const double chunkBytes =
      bytes / std::max(1.0, chunks) / static_cast<double>(std::max<std::int64_t>(1, plan.cores.groups));
  const double outerRate = bytesPerCycle(m, bytes / m.cores, true);
  // A chunk is read once from where the tensors live, then again for every tile from where the chunk lives. Each block of channels
  // walks one line out of every pixel: once the pixels it walks over outgrow L2, prefetchers and address translation fall behind.
  // Dealing channels out makes every task walk over all pixels, so it walks over the whole tensors.
  const bool inPlace = !plan.panelA || !plan.panelB;
  const bool dealt = plan.cores.groups > 1 && inPlace;
  const double walked = dealt ? bytes / m.cores : bytes / std::max(1.0, chunks);
  const double strided = s.blocks > 1 && inPlace && walked > 0.75 * static_cast<double>(m.buffers.l1Bytes) ? 1.8 : 1.0;
  cost.memoryCycles = bytes / outerRate * strided * lonelyLines(s, plan, outerRate, m) +
                      bytes * (tiles - 1) / bytesPerCycle(m, chunkBytes, false);
  cost.moveCycles = blocks * static_cast<double>(v.taps()) * channels *
                    (m.rates.transposeCycles + static_cast<double>(plan.cores.reduction - 1) * 3.0);
  const bool bigStaged = s.bigIsCell ? plan.panelA : plan.panelB, smallStaged = s.bigIsCell ? plan.panelB : plan.panelA;
  if (bigStaged) {
    const double again = v.line ? 1.0
                                : 1.0 + static_cast<double>((v.kernel.h - 1) * v.dilation.h) /
                                            static_cast<double>(plan.panelH * v.stride.h);
    const double againD =
        1.0 + static_cast<double>((v.kernel.d - 1) * v.dilation.d) / static_cast<double>(plan.panelD * v.stride.d);
    cost.moveCycles += panelMoveCycles(s, plan, v.big, m) * again * againD;
  }
  if (smallStaged) cost.moveCycles += panelMoveCycles(s, plan, v.small, m);
  const std::int64_t copies = std::min(plan.cores.groups, divUp(s.blocks, plan.baseVectors));
  const double tasks =
      static_cast<double>(copies) * std::min(static_cast<double>(plan.cores.reduction), std::max(1.0, chunks));
  finish(cost, m, tasks, std::max(spreadOf(tasks, m.cores), deal.imbalance(plan.cores.reduction, copies, m.cores)));
  return cost;
}

}  // namespace

PlanCost cellsCost(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  const CellsShape s = cellsShape(problem, plan.gradient, machine.isa.lanes(), plan.dotProducts);
  return plan.gradient == Gradient::kDx ? dataCost(s, plan, machine) : weightCost(s, plan, machine);
}

}  // namespace cubejit
