// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan of dW with groups side by side costs: sums in flight, loads of lanes and groups, reduction blocks read once a tile, panels.
#include <algorithm>
#include <cmath>

#include "algorithms/grouped/cost.h"
#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/unrolled_uses.h"
#include "algorithms/kit/reduction_partition.h"

namespace cubejit {
namespace {

// Pixels of a block of channels follow each other, in both tensors.
bool allBlocked(const ConvView& v) { return v.big.c0 > 0 && v.small.c0 > 0; }

// How much longer pixels take from beyond L2 of which only a unit's lines are read at a time.
double lonelyLines(const GroupedShape& s, const GroupedWeightsPlan& plan, double rate, const Machine& m) {
  if (plan.packA || allBlocked(s.view) || s.blocks <= plan.registerVectors || rate >= m.rates.l2BytesPerCycle)
    return 1.0;
  const double lines = static_cast<double>(plan.registerVectors * s.perBlock * s.vectorChannels *
                                           static_cast<std::int64_t>(byteSize(s.view.small.dtype))) /
                       64.0;
  const double share = lines <= 1 ? 1.0 : lines <= 2 ? 0.25 : 0.0;
  return 1.0 + (m.rates.lonelyLines - 1.0) * share;
}

}  // namespace

PlanCost groupedWeightsCost(const Problem& problem, const GroupedWeightsPlan& plan, const Machine& m) {
  const GroupedShape s = groupedShape(problem, Pass::kDw, m.isa.lanes(), false);
  const ConvView& v = s.view;
  const double perCycle = vectorsAtOnce(m);
  const double images = static_cast<double>(v.batch), blocks = static_cast<double>(s.blocks),
               channels = static_cast<double>(s.permutedChannels);
  const double fmas = validPairs(v) * images * blocks * channels;
  const double run = static_cast<double>(plan.unroll), tapsW = static_cast<double>(plan.registerTapsW),
               tapsH = static_cast<double>(plan.registerTapsH);
  const double held = static_cast<double>(std::min(plan.registerChannels, s.permutedChannels));
  const double width = static_cast<double>(plan.registerVectors),
               units = std::ceil(blocks / width);  // blocks side by side
  const double positions =
      reached(run, tapsW, static_cast<double>(v.stride.w), static_cast<double>(v.dilation.w)) * tapsH;
  const double pairs = run * tapsW * tapsH * held;
  const double passes = fmas / std::max(1.0, pairs);
  const double permutedLoads = (s.bigIsPermuted ? positions : run) * held;
  double laneLoads = s.bigIsPermuted ? run : positions;
  const double accumulators = tapsW * tapsH * held * width;
  const double room = (static_cast<double>(usableRegisters(m, true)) - accumulators - (s.permuted ? 4 : 2)) / width;
  if (laneLoads > room)
    laneLoads =
        std::max(0.0, room) + (laneLoads - std::max(0.0, room)) * pairs / std::max(1.0, laneLoads);  // read where used
  PlanCost cost;
  const double inFlight = 4.0 * perCycle * m.rates.fmaPerCycle;
  const double latency = accumulators < inFlight ? inFlight / accumulators : 1.0;
  const TensorView &group = s.bigIsPermuted ? v.big : v.small, &lane = s.bigIsPermuted ? v.small : v.big;
  const double conversions = (plan.packA ? 0 : convertedVectors(group, passes * permutedLoads)) +
                             (plan.packB ? 0 : convertedVectors(lane, passes * laneLoads));
  const double loads = passes * (permutedLoads + laneLoads) * m.rates.vectorLoadCycles;
  cost.computeCycles =
      (std::max(arithmeticCycles(fmas, (s.permuted ? passes * permutedLoads : 0) + conversions, m) * latency, loads) +
       m.rates.exposedLoads * loads) /
      perCycle;
  const ReductionPartition partition(v, plan.reduction);
  const double reductionBlocks = static_cast<double>(partition.blocks());
  const double tiles = static_cast<double>(v.kernel.d) * std::ceil(static_cast<double>(v.kernel.h) / tapsH) *
                       std::ceil(static_cast<double>(v.kernel.w) / tapsW) * std::ceil(channels / held);
  cost.callCycles =
      std::max(1.0, reductionBlocks) * tiles * units * (kCallCycles * 0.7 + 3.0 * accumulators + kSegmentCycles * 3.0);
  const double rowPairs = static_cast<double>(v.small.extent.w) * pairs / run;
  if (rowPairs > static_cast<double>(kUnrolledUses))
    cost.callCycles +=
        images * static_cast<double>(v.small.extent.d * v.small.extent.h) * tiles * units * kSegmentCycles * 3.0;
  const double bytes = static_cast<double>(v.big.bytes + v.small.bytes);
  const double blockBytes =
      bytes / std::max(1.0, reductionBlocks) / static_cast<double>(std::max<std::int64_t>(1, plan.groupParts));
  const double outerRate = bytesPerCycle(m, bytes / m.cores, true);
  // A reduction block is read once from where the tensors live, then again for every tile from where the reduction block lives. Each block of channels
  // walks one line out of every pixel: once the pixels it walks over outgrow L2, prefetchers and address translation fall behind.
  // Dealing channels out makes every task walk over all pixels, so it walks over the whole tensors.
  const bool inPlace = (!plan.packA || !plan.packB) && !allBlocked(v);
  const bool dealt = plan.groupParts > 1 && inPlace;
  const double passedBytes = dealt ? bytes / m.cores : bytes / std::max(1.0, reductionBlocks);
  const double strided =
      s.blocks > 1 && inPlace && passedBytes > 0.75 * static_cast<double>(m.buffers.l1Bytes) ? 1.8 : 1.0;
  cost.memoryCycles = bytes / outerRate * strided * lonelyLines(s, plan, outerRate, m) +
                      bytes * (tiles - 1) / bytesPerCycle(m, blockBytes, false);
  cost.moveCycles = blocks * static_cast<double>(v.taps()) * channels *
                    (m.rates.transposeCycles + static_cast<double>(plan.reductionParts - 1) * 3.0);
  const bool bigStaged = s.bigIsPermuted ? plan.packA : plan.packB,
             smallStaged = s.bigIsPermuted ? plan.packB : plan.packA;
  if (bigStaged) {
    const double again = v.oneAxis ? 1.0
                                   : 1.0 + static_cast<double>((v.kernel.h - 1) * v.dilation.h) /
                                               static_cast<double>(plan.reduction.h * v.stride.h);
    const double againD =
        1.0 + static_cast<double>((v.kernel.d - 1) * v.dilation.d) / static_cast<double>(plan.reduction.d * v.stride.d);
    cost.moveCycles += panelMoveCycles(s, plan.groupParts, v.big, m) * again * againD;
  }
  if (smallStaged) cost.moveCycles += panelMoveCycles(s, plan.groupParts, v.small, m);
  const std::int64_t copies = std::min(plan.groupParts, divUp(s.blocks, plan.registerVectors));
  const double tasks =
      static_cast<double>(copies) * std::min(static_cast<double>(plan.reductionParts), std::max(1.0, reductionBlocks));
  finish(cost, m, tasks, std::max(spreadOf(tasks, m.cores), partition.imbalance(plan.reductionParts, copies, m.cores)));
  return cost;
}

}  // namespace cubejit
