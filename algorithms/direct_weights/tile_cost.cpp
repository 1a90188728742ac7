// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the cycles of a step, and how many steps there are where pixels are taken two at a time.
#include "algorithms/direct_weights/tile_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/direct_weights/flat_rows.h"
#include "algorithms/direct_weights/rates.h"
#include "algorithms/direct_weights/sums_in_flight.h"
#include "algorithms/kit/column_runs.h"
#include "algorithms/kit/matrix_tiles.h"

namespace cubejit {
namespace {

// Blocks of taps along W that are costed, of kernels that have more: every so-many-th one, which stands for those up to the next.
constexpr std::int64_t kMostBlocksCosted = 32;

// Cycles of a row of columns for all taps along W, two columns a step where the same taps reach both. `stepOf(taps)` = cycles of
// a step. Single columns of few taps: the next row waits for the same sums.
template <class StepCycles>
double pairedRowCycles(const WeightShape& s, StepCycles stepOf) {
  const ConvView& v = s.v;
  const std::int64_t blocks = ceilDiv(v.kernel.w, s.tapsOfBlock), every = ceilDiv(blocks, kMostBlocksCosted);
  double cycles = 0;
  for (std::int64_t first = 0; first < v.kernel.w; first += s.tapsOfBlock * every) {
    std::vector<Range> taps;
    for (std::int64_t k = first; k < std::min(v.kernel.w, first + s.tapsOfBlock); ++k) {
      const Range in = insideOf(v, 2, k);
      taps.push_back({in.lo, in.hi});
    }
    const std::int64_t sums =
        s.plan.registerRows * s.plan.registerVectors * std::min(s.plan.registerTaps, s.tapsOfBlock);
    for (const PairedRun& r : pairedColumns(columnRuns(taps, v.small.extent.w),
                                            std::max<std::int64_t>(1, sums / s.tapsOfBlock), s.plan.registerRows))
      cycles += static_cast<double>(r.steps()) *
                std::max(stepOf(static_cast<double>(r.columns.taps())), r.single ? sumLatency(true) : 0.0);
  }
  return cycles * static_cast<double>(blocks) / static_cast<double>(ceilDiv(blocks, every));
}

// A line of a blocked tensor (Zen 5: 1x1 layers of 64 to 1024 channels in f32, reduction blocks of 200 to 3000 pixels).
constexpr double kRunningLineCycles = 0.05;

double stepCycles(const WeightShape& s, double fmas, double loads, double laneVectors) {
  const auto sums = static_cast<std::int64_t>(std::ceil(s.accs));
  const double latency =
      sumLatency(s.plan.dotProducts) / static_cast<double>(setsOfSums(sums, s.plan.dotProducts, s.m));
  return std::max({fmaCycles(s.m, fmas, s.plan.dotProducts), loads, latency}) + s.m.rates.exposedLoads * loads +
         (s.formed ? s.m.rates.pairCycles * laneVectors / vectorsAtOnce(s.m) : 0.0);
}

// FMAs against loads; edge columns use fewer taps but take their own step.
double computeCycles(const WeightShape& s) {
  const ConvView& v = s.v;
  if (s.columnPairs) {
    const auto stepOf = [&](double reached) {
      const double wholeVectors = s.operandsTransposed ? s.meanVectors
                                  : s.kernelWidth
                                      ? std::ceil(reached * static_cast<double>(s.lane().channels) / s.lanes)
                                      : reached * s.meanVectors;
      const double loads =
          loadCycles(s.m, wholeVectors * s.widened, s.operandsTransposed ? s.meanRows * reached : s.meanRows);
      return stepCycles(s, s.meanRows * (s.operandsTransposed ? reached : 1.0) * wholeVectors, loads, wholeVectors) +
             0.2;
    };
    return s.images * s.groups * s.pairsDh * s.laneBlocks * s.rowBlocks * pairedRowCycles(s, stepOf);
  }
  const bool aligned = (s.laneInPanel && (s.plan.dotProducts || s.plan.packsOnFirstUse())) ||
                       s.lane().wStride % 64 == 0 || s.lane().c0 > 0;
  const double vectorLoads =
      (s.operandsTransposed ? s.meanVectors : s.meanTaps * s.meanVectors * (aligned ? 1.0 : 1.3)) * s.widened;
  const double broadcasts = s.operandsTransposed ? s.meanRows * s.meanTaps : s.meanRows;
  const double step = stepCycles(s, s.accs, loadCycles(s.m, vectorLoads, broadcasts), vectorLoads / s.widened);
  const double fill = s.pairsW / (s.columns * static_cast<double>(v.kernel.w));  // share of full tap blocks
  return s.pixelSteps * s.tiles * (step * (0.3 + 0.7 * fill) + 0.2);
}

// Lines that share few sets of L1 come from beyond, one by one.
double crowdedCycles(const WeightShape& s) {
  const auto waits = [&](const TensorView& t, bool packed) {
    return packed || !crowds(s.m, s.v, t) ? 0.0 : crowdedLineCycles(s.m);
  };
  const double laneWait = s.formed ? pairWaitCycles(s.m, s.v, s.lane())
                                   : waits(s.lane(), s.laneInPanel) * (s.v.kernel.w > 1 ? 1.0 : kCrowdedLanesOfOneTap);
  return s.pixelSteps * s.tiles *
         (s.meanVectors * laneWait + (s.straddles ? s.linesOfRows : 1.0) * waits(s.row(), s.plan.packA));
}

// Lines that a tile step takes from beyond L1 are not all hidden. What the inner loop keeps stays in L1 if it fits; the rest comes
// from L2 if the task's part of the reduction block fits there. A vector that is waited for stops a whole step, a scalar one row.
double lateCycles(const WeightShape& s) {
  const double laneShare = static_cast<double>(s.lane().channels) / static_cast<double>(s.plan.vectorParts),
               rowShare = static_cast<double>(s.row().channels) / static_cast<double>(s.plan.rowParts);
  const double laneKept = s.plan.packsOnFirstUse() ? s.meanVectors * s.lanes : laneShare;  // one block at a time
  const double partBytes = s.blockPixels * (s.laneEach * laneKept * s.laneScale + s.rowEach * rowShare * s.rowScale);
  const double beyond = partBytes <= 0.7 * static_cast<double>(s.m.buffers.l1Bytes) ? 1.0 : kFarLines;
  // Prefetchers follow the lines of a block.
  const auto lineCycles = [&](double lines, double each, bool runs) {
    if (s.blockSteps * lines * 64 <= kLinesOfL1 * keptByL1(s.m)) return 0.0;
    return runs ? kRunningLineCycles : each * beyond * s.m.rates.lateLines;
  };
  const double laneLines = s.laneBytes / 64.0, rowLines = s.row().channelsLast || s.plan.packA ? s.meanRows / 16.0 + 0.9
                                                          : s.rowRuns ? std::max(1.0, s.meanRows / 16.0)
                                                                      : s.meanRows / 16.0;
  return s.pixelSteps * s.tiles *
         (laneLines * lineCycles(s.lanesOutside ? laneLines : laneShare / 16.0,
                                 s.plan.packsOnFirstUse() ? kCopiedLineCycles : kLaneLineCycles, s.laneRuns) +
          rowLines * lineCycles(s.lanesOutside ? rowShare / 16.0 : rowLines, kRowLineOfTileCycles, s.rowRuns));
}

// With more taps the next columns are asked for before they are needed. Cores that look less far ahead wait for each line of lanes,
// for whole ones if a vector takes half of one.
double lateColumnCycles(const WeightShape& s) {
  if (s.lanePitch < 64) return 0.0;  // one long stream
  const double lines = std::ceil(s.laneBytes / 64.0), pixels = s.blockSteps * s.reach;
  if (s.lanesOutside && pixels <= kLinesOfL1 * linesOfL1(s.m, s.lanePitch, pixels) &&
      pixels * lines * 64 <= kLinesOfL1 * keptByL1(s.m))
    return 0.0;
  return s.pixelSteps * s.tiles * lines * (s.operandsTransposed ? 1.0 : s.meanTaps) * s.m.rates.lateColumns;
}

// Taps begin at any column: rows of A straddle lines but for every 32nd.
double productCycles(const WeightShape& s) {
  const double tilesOfRows = std::ceil(s.meanRows / static_cast<double>(kTileRows));
  const double products = static_cast<double>(flatSums(s.v, s.plan.reduction).steps);
  return matrixUnitCycles(s.m.isa, s.v.big.dtype, {tilesOfRows, s.meanVectors, s.v.taps() > 1 ? 2.0 : 1.0},
                          s.calls * products, s.calls);
}

}  // namespace

double tileCycles(const WeightShape& s) {
  if (s.plan.matrixUnit) return productCycles(s);
  const double cycles = computeCycles(s) + crowdedCycles(s);
  if (s.v.kernel.w == 1) return cycles + lateCycles(s);
  return cycles * (s.lanesOutside ? 1.0 : kStreamedLanes) + lateColumnCycles(s);
}

}  // namespace cubejit
