// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a weight-gradient plan costs: what its tiles compute, passes of tiles, what they stream, panels, splits, the partition.
#include <algorithm>
#include <cmath>

#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/direct_weights/rates.h"
#include "algorithms/direct_weights/tile_cost.h"
#include "algorithms/direct_weights/unrolled_columns.h"

namespace cubejit {
namespace {

// Share of streaming that is not hidden where lines of blocks follow each other and one tap reads them (Zen 5: 1x1 layers of 64 to
// 1024 channels in f32, reduction blocks of 200 to 3000 pixels; pairs of bf16 wait as elsewhere).
constexpr double kRunningStreams = 0.3;

class DirectWeightsCosting {
 public:
  DirectWeightsCosting(const Problem& problem, const DirectWeightsPlan& plan, const Machine& machine)
      : dw_(formatOf(problem, TensorId::kDw).dtype), s_(problem, plan, machine) {}

  PlanCost run() const {
    PlanCost cost;
    cost.computeCycles = tileCycles(s_);
    cost.callCycles = callCycles();
    cost.memoryCycles = streamCycles() + resultCycles();
    cost.moveCycles = panelCyclesOfAll() + sumMoveCycles();
    const double tasks = s_.groups * std::min(s_.splits, s_.blocks) * s_.parts;
    const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                        kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
    cost.totalCycles = busy / cores() * spread() + tasks * 100.0 / cores();
    cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
                 : cost.moveCycles > cost.computeCycles ? "move"
                                                        : "compute";
    return cost;
  }

 private:
  double cores() const { return s_.m.cores; }
  double tensorBytes() const { return static_cast<double>(s_.v.big.bytes + s_.v.small.bytes); }

  // Visits: a call, its sums and its segments.
  double callCycles() const {
    const double edgeRuns = s_.v.kernel.w > 1 && !s_.plan.matrixUnit
                                ? 1.0 + 2.0 * std::min(2.0, static_cast<double>(s_.v.pad.w) /
                                                                std::max(1.0, static_cast<double>(s_.v.stride.w)))
                                : 1.0;
    const bool rowsTogether =
        s_.plan.matrixUnit ||
        (!s_.v.oneAxis &&
         s_.columns + 1 - edgeRuns <= static_cast<double>(unrolledColumns(static_cast<std::int64_t>(s_.accs))));
    const double segments =
        static_cast<double>(s_.plan.reduction.d * s_.reduced.reduction.n) *
        (rowsTogether ? edgeRuns : s_.blockRows * (1.0 + (edgeRuns - 1.0) / std::max(1.0, s_.blockRows)));
    // With rows innermost a kernel goes from one block of them to the next by itself; where sums are stored once, that is all.
    const double entry = s_.storedOnce && s_.lanesOutside ? kRepeatCycles : kCallCycles;
    // Sums that one pass completes are stored to L1 and leave it at once.
    const double sums = s_.atOnce ? kSumCyclesAtOnce : s_.m.rates.sumCycles;
    double cycles = s_.calls * (entry + sums * s_.accs + segments * 2.0 * kSegmentCycles);
    // Tasks that share accumulators find theirs scattered among the others': a call waits for what comes from beyond L2.
    if (s_.blocks > 1 && !s_.direct && !s_.plan.bufferC && s_.parts > 1)
      cycles +=
          s_.calls * s_.accs *
          std::max(0.0, 128.0 / std::max(s_.m.rates.l3BytesPerCycle, bytesPerCycle(s_.m, nearSums(), true)) - 4.5);
    // Accumulator rows that are multiples of 4 KiB apart in dw compete for one L1 set, and each lies on a page of its own.
    if (s_.direct && s_.lane().channels * byteSize(dw_) % 2048 == 0 && s_.rows > 8)
      cycles += s_.calls * s_.accs * s_.m.rates.crowdedStores;
    return cycles;
  }

  // What sums that are added to again lie among.
  double nearSums() const {
    return s_.plan.bufferC ? s_.scratch / (s_.groups * s_.parts) : s_.scratch * s_.splits / cores() + s_.blockBytes;
  }

  // The inner loop's operand stays near while the other one streams past, once per block of the outer loop.
  double streamCycles() const {
    const TensorView &lane = s_.lane(), &row = s_.row();
    const double rowPiece = s_.blockPixels * s_.rowEach * static_cast<double>(row.channels) * s_.rowScale,
                 lanePiece = s_.blockPixels * s_.laneEach * static_cast<double>(lane.channels) * s_.laneScale;
    const double laneStream = s_.blockSteps * s_.laneBytes * (s_.operandsTransposed ? 1.0 : s_.reach),
                 rowStream = s_.blockSteps * s_.rowBytes * (s_.operandsTransposed ? s_.reach : 1.0);
    const double laneRate = reuseRate((s_.lanesOutside ? laneStream : lanePiece) + rowStream);
    const bool rowsAgain = s_.atOnce && s_.outerTaps > 1;  // the next outer tap reads the same rows
    const double rowRate = reuseRate((s_.lanesOutside && !rowsAgain ? rowPiece : rowStream) + laneStream);
    double memory =
        s_.pixelSteps * s_.tiles *
        (s_.laneBytes / laneRate * (s_.plan.packsOnFirstUse() ? kCopiedStreams : streams(s_.laneRuns && !s_.formed)) +
         s_.rowBytes / rowRate * streams(s_.rowRuns));
    if (s_.blocks > 1) memory += s_.blocks * 2.0 * s_.scratch / bytesPerCycle(s_.m, nearSums(), true);
    // Every task reads its rows and its lanes of all pixels.
    memory += (static_cast<double>(row.bytes) * static_cast<double>(s_.plan.vectorParts) +
               static_cast<double>(lane.bytes) * static_cast<double>(s_.plan.rowParts)) /
              bytesPerCycle(s_.m, tensorBytes(), true);
    // Rows read from a plain tensor are planes apart: a power-of-two distance makes them collide in L1.
    if (!row.channelsLast && !s_.plan.packA && row.cStride % 4096 == 0 && s_.meanRows > 6) memory *= 2;
    return memory;
  }

  double streams(bool runs) const { return runs && s_.v.taps() == 1 ? kRunningStreams : 1.0; }

  // Between two uses of the one that stays lies what streamed past. First layers: panels that fill L2 with what they are filled from
  // leave nothing there for the taps of the next planes and rows.
  double reuseRate(double between) const {
    const bool fills = s_.plan.packA && s_.outerTaps > 1 && s_.row().channels <= kFewRowChannels;
    const double filled = fills ? kPanelsAndSources * s_.blockBytes : 0.0;
    const bool near = filled <= kL2Share * static_cast<double>(s_.m.buffers.l1Bytes);
    return reuseBytesPerCycle(s_.m, near ? between : std::max(between, filled));
  }

  double resultCycles() const {
    const double result = static_cast<double>(s_.v.small.channels * s_.v.big.channels * s_.v.groups * s_.v.taps()) *
                          static_cast<double>(byteSize(dw_));
    // Few sums for what is stored: lines of rows side by side go to as many pages in turn.
    const double pages = s_.storedOnce ? s_.scratch / 64.0 * kRowOfLineCycles * (s_.meanRows - 1) : 0.0;
    return pages + 1.5 * result / bytesPerCycle(s_.m, result, true);
  }

  double coldBlocks(const TensorView& t) const {
    return s_.groups * std::min(s_.blocks * kColdBlockCycles, static_cast<double>(t.bytes) / 8.0);
  }

  double packed(const TensorView& t, bool big) const {
    const double around =
        big ? s_.copied(0, s_.plan.reduction.d) * s_.copied(s_.v.oneAxis ? 2 : 1, s_.plan.reduction.h) : 1.0;
    // Each image, plane and block of channels of a reduction block is a call.
    const double calls =
        t.c0 == 0 ? 0 : s_.blocks * static_cast<double>(s_.reduced.reduction.n * s_.plan.reduction.d) * panelPieces(t);
    // Nothing is computed meanwhile: tensors come at the pace of memory, and prefetchers begin anew with each reduction block.
    const double pace = 16.0 * static_cast<double>(byteSize(t.dtype)) / bytesPerCycle(s_.m, tensorBytes(), true);
    const PixelPairs pairs = s_.view.pairs;
    const std::int64_t spacing = s_.plan.matrixUnit ? 2 : wordSpacing(s_.v, pairs, big);
    const bool turned = s_.plan.matrixUnit && big;  // plain tensors are copied there, and others transposed
    const double each = (turned ? turnedPanelCycles(t, s_.m) : panelCycles(t, s_.m)) /
                        static_cast<double>(imagesOfWord(pairs) * spacing);
    const ConvView& asked = s_.view.asked;
    const double read =
        static_cast<double>(t.extent.volume()) / static_cast<double>((big ? asked.big : asked.small).extent.volume());
    return panelVectors(t) * read * around * std::max(each, pace) + calls * s_.groups * kCallCycles + coldBlocks(t);
  }

  // Filling panels, and what lanes that are read where they lie wait for beforehand.
  double panelCyclesOfAll() const {
    const TensorView& lane = s_.lane();
    double moves = 0;
    if (s_.widened > 1.0) moves += coldBlocks(lane);
    if (!s_.laneInPanel && lane.channelsLast && s_.plan.registerVectors == 1 && s_.laneBlocks > 1 &&
        isFar(s_.m, tensorBytes()))
      moves += static_cast<double>(lane.bytes) * (s_.operandsTransposed ? 1.0 : s_.reach) / 64.0 * kLonelyLineCycles *
               std::min(1.0, kFewLines / s_.laneBlocks);
    if (s_.plan.packA) moves += packed(s_.row(), s_.operandsTransposed) * static_cast<double>(s_.plan.vectorParts);
    if (s_.plan.packsVectors()) moves += packed(lane, !s_.operandsTransposed) * static_cast<double>(s_.plan.rowParts);
    if (s_.plan.packsOnFirstUse()) moves += touched(lane) * static_cast<double>(s_.plan.rowParts);
    return moves;
  }

  // What the first block of rows takes longer: it waits for its lanes, and stores them.
  double touched(const TensorView& lane) const {
    const PixelPairs pairs = s_.view.pairs;
    const double words = panelVectors(lane) /
                         static_cast<double>(imagesOfWord(pairs) * wordSpacing(s_.v, pairs, !s_.operandsTransposed));
    return words * (kFirstUseCycles + (s_.plan.dotProducts ? s_.m.rates.pairCycles : 0.0)) + coldBlocks(lane);
  }

  // The way of sums into dw's order.
  double sumMoveCycles() const {
    const double lines = s_.scratch / 64.0;
    double moves = 0;
    // Lanes that are rows of dw: each block of them goes to as many rows, which lie on pages of their own.
    if (s_.operandsTransposed && s_.scratch > 0.75 * static_cast<double>(s_.m.buffers.l1Bytes))
      moves += lines / static_cast<double>(s_.v.taps()) * kFarRowCycles;
    if (s_.direct) return moves;
    // Shared accumulators go out to memory and come back before they are unpacked.
    if (!s_.plan.bufferC)
      moves += (2.0 * s_.splits + 1.0) * s_.scratch / bytesPerCycle(s_.m, s_.splits * s_.scratch, true);
    moves += lines *
             (s_.m.rates.transposeCycles + (s_.transposes && !s_.atOnce ? kFarSumCycles : 0.0) + 3.0 * (s_.splits - 1));
    return moves;
  }

  // How much longer the slowest core works than the average one. Parts are whole blocks, and the last block of rows or lanes is
  // smaller than the others. Many tasks even that out.
  double spread() const {
    const DirectWeightsPlan& cut = s_.plan;
    const bool few = s_.groups * s_.parts < 4 * cores();
    // Where nothing is waited for but products, small remainders show.
    const double even = (s_.laneRuns && !s_.formed) || s_.rowRuns ? 1.0 : kEvenParts;
    const auto unequal = [&](double blocks, double pieces, std::int64_t count) {
      const int each = static_cast<int>(count);
      const double rest = imbalance(1.0, pieces, each);
      return count > 1 ? std::max(imbalance(blocks, each), few && rest > even ? rest : 1.0) : 1.0;
    };
    return s_.partition.imbalance(cut.reductionParts, s_.v.groups * cut.rowParts * cut.vectorParts, s_.m.cores) *
           unequal(s_.rowBlocks, static_cast<double>(s_.row().channels) / s_.rows, cut.rowParts) *
           unequal(s_.laneBlocks, s_.laneVectors / s_.vectors, cut.vectorParts);
  }

  const DType dw_;
  const WeightShape s_;
};

}  // namespace

PlanCost directWeightsCost(const Problem& problem, const DirectWeightsPlan& plan, const Machine& m) {
  return DirectWeightsCosting(problem, plan, m).run();
}

}  // namespace cubejit
