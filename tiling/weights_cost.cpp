// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a weight-gradient plan costs: FMA slots with idle lanes, rows and taps; loads; visits of tiles; panels; splits.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cubejit/direct_weights.h"
#include "cubejit/unrolled_uses.h"
#include "cubejit/weight_view.h"
#include "tiling/chunk_deal.h"
#include "tiling/host_shape.h"
#include "tiling/weights_candidates.h"

namespace cubejit {
namespace {

// The outputs [lo, hi) of an axis that a tap finds an input for.
struct Inside {
  std::int64_t lo = 0, hi = 0;
};

Inside insideOf(const ConvView& v, int axis, std::int64_t tap) {
  const std::int64_t stride = v.stride[axis], shift = tap * v.dilation[axis] - v.pad[axis];
  const std::int64_t last = v.big.extent[axis] - 1 - shift;
  Inside in{shift >= 0 ? 0 : divUp(-shift, stride), last < 0 ? 0 : std::min(v.small.extent[axis], last / stride + 1)};
  in.hi = std::max(in.lo, in.hi);
  return in;
}

// (output, tap) pairs that fall inside, on one axis.
double insidePairs(const ConvView& v, int axis) {
  double pairs = 0;
  for (std::int64_t k = 0; k < v.kernel[axis]; ++k) {
    const Inside in = insideOf(v, axis, k);
    pairs += static_cast<double>(in.hi - in.lo);
  }
  return pairs;
}

// Cycles of a row of columns for all taps along W, two columns a step. Columns that reach the same taps of a block are a run,
// and a run of odd length wastes half a step. `stepOf(taps)` = cycles of a step.
template <class StepCycles>
double pairedRowCycles(const ConvView& v, std::int64_t tapsOfBlock, StepCycles stepOf) {
  double cycles = 0;
  for (std::int64_t first = 0; first < v.kernel.w; first += tapsOfBlock) {
    std::vector<Inside> taps;
    std::vector<std::int64_t> ends;
    for (std::int64_t k = first; k < std::min(v.kernel.w, first + tapsOfBlock); ++k) {
      taps.push_back(insideOf(v, 2, k));
      ends.push_back(taps.back().lo);
      ends.push_back(taps.back().hi);
    }
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      const auto reached = std::count_if(taps.begin(), taps.end(),
                                         [&](const Inside& t) { return t.lo <= ends[i] && ends[i + 1] <= t.hi; });
      if (reached > 0)
        cycles += static_cast<double>(divUp(ends[i + 1] - ends[i], 2)) * stepOf(static_cast<double>(reached));
    }
  }
  return cycles;
}

}  // namespace

PlanCost weightCost(const Problem& problem, const TilingPlan& plan, const Machine& m) {
  const WeightView view = weightView(problem, plan.dotProducts);
  const auto& [asked, pairs, v] = view;  // what is said of images and pixels below is said of words
  const bool columnPairs = pairs == PixelPairs::kColumns;
  TilingPlan chunked = plan;
  chunked.baseBatch = view.chunkImages(plan.baseBatch);
  const bool swapped = plan.lanes == LaneRole::kSwapped;
  const TensorView &lane = swapped ? v.small : v.big, &row = swapped ? v.big : v.small;
  const double lanes = m.isa.lanes(), cores = m.cores, groups = static_cast<double>(v.groups),
               images = static_cast<double>(v.batch);
  const double vectors = static_cast<double>(plan.baseVectors), taps = static_cast<double>(plan.baseTapsW),
               rows = static_cast<double>(plan.baseRows);
  const double laneVectors = std::ceil(static_cast<double>(lane.channels) / lanes);
  const double laneBlocks = std::ceil(laneVectors / vectors),
               rowBlocks = std::ceil(static_cast<double>(row.channels) / rows);
  const double tapBlocks = std::ceil(static_cast<double>(v.kernel.w) / taps);
  const double meanTaps = static_cast<double>(v.kernel.w) / tapBlocks, meanVectors = laneVectors / laneBlocks;
  const double meanRows = static_cast<double>(row.channels) / rowBlocks;
  const double pairsDh = insidePairs(v, 0) * insidePairs(v, 1), pairsW = insidePairs(v, 2);
  const double columns = static_cast<double>(v.small.extent.w);

  PlanCost cost;
  // One pixel of one tile: FMAs against loads; edge columns use fewer taps but take their own step.
  const double accs = meanRows * meanTaps * meanVectors;
  const bool formed = plan.dotProducts && !plan.panelB;  // pairs, of two lines, in the kernel
  const bool aligned = (plan.dotProducts && !formed) || lane.wStride % 64 == 0;
  // Vectors of 16-bit elements are widened as they are read; pairs take two lines, which every other vector shares with its neighbour.
  const bool sharesLines = formed && plan.baseVectors % 2 == 0;
  const double widened = !plan.panelB && lane.dtype != DType::kF32 && !sharesLines ? kWidenedLoads : 1.0;
  const double vectorLoads = (swapped ? meanVectors : meanTaps * meanVectors * (aligned ? 1.0 : 1.3)) * widened;
  const double broadcasts = swapped ? meanRows * meanTaps : meanRows;
  const auto loadCycles = [&](double wholeVectors, double scalars) {
    return wholeVectors * m.rates.vectorLoadCycles + scalars * m.rates.broadcastCycles;
  };
  const auto stepCycles = [&](double fmas, double loads, double laneVectorsOfStep) {
    return std::max({fmas / m.rates.fmaPerCycle, loads, 4.0}) + m.rates.exposedLoads * loads +
           (formed ? m.rates.pairCycles * laneVectorsOfStep : 0.0);
  };
  const double step = stepCycles(accs, loadCycles(vectorLoads, broadcasts), vectorLoads / widened);
  const double fill = pairsW / (columns * static_cast<double>(v.kernel.w));  // share of full tap blocks
  const double pixelSteps = images * groups * pairsDh * (columnPairs ? std::ceil(columns / 2) : columns);
  const double tiles = laneBlocks * rowBlocks * tapBlocks;
  if (!columnPairs) {
    cost.computeCycles = pixelSteps * tiles * (step * (0.3 + 0.7 * fill) + 0.2) / vectorsAtOnce(m);
  } else {
    const auto stepOf = [&](double reached) {
      const double wholeVectors = swapped ? meanVectors : reached * meanVectors;
      const double loads = loadCycles(wholeVectors * widened, swapped ? meanRows * reached : meanRows);
      return stepCycles(meanRows * reached * meanVectors, loads, wholeVectors) + 0.2;
    };
    cost.computeCycles =
        images * groups * pairsDh * laneBlocks * rowBlocks * pairedRowCycles(v, plan.baseTapsW, stepOf);
  }

  // Lines that the rows of a tile lie in: rows that do not divide a line's sixteen straddle two of them. With one tap along W the next
  // block of rows finds the rest of a line in L1.
  const bool straddles = v.kernel.w > 1 && 16 % plan.baseRows != 0 && rowBlocks > 1;
  const double linesOfRows = straddles ? 1.0 + (meanRows - 1.0) / 16.0 : std::max(1.0, meanRows / 16.0);
  const auto waits = [&](const TensorView& t, bool staged) {
    return staged || !crowds(m, v, t) ? 0.0 : crowdedLineCycles(m);
  };
  const double laneWait =
      formed ? pairWaitCycles(m, v, lane) : waits(lane, plan.panelB) * (v.kernel.w > 1 ? 1.0 : kCrowdedLanesOfOneTap);
  cost.computeCycles +=
      pixelSteps * tiles * (meanVectors * laneWait + (straddles ? linesOfRows : 1.0) * waits(row, plan.panelA));

  const double chunkRows = v.line ? 1.0 : static_cast<double>(plan.panelH);
  const double chunkColumns = v.line ? static_cast<double>(plan.panelH) : columns;
  const double chunkPixels = chunkRows * chunkColumns * static_cast<double>(plan.panelD * chunked.baseBatch);
  const ChunkDeal deal(v, chunked);
  const double chunks = static_cast<double>(deal.chunks());
  const double outerTaps = static_cast<double>(v.kernel.d * v.kernel.h);
  const double calls = chunks * groups * tiles * outerTaps;
  const double edgeRuns =
      v.kernel.w > 1
          ? 1.0 + 2.0 * std::min(2.0, static_cast<double>(v.pad.w) / std::max(1.0, static_cast<double>(v.stride.w)))
          : 1.0;
  const bool unrolledRows =
      !v.line && columns + 1 - edgeRuns <= static_cast<double>(unrolledColumns(static_cast<std::int64_t>(accs)));
  const double segments = static_cast<double>(plan.panelD * chunked.baseBatch) *
                          (unrolledRows ? edgeRuns : chunkRows * (1.0 + (edgeRuns - 1.0) / std::max(1.0, chunkRows)));
  const DType dw = formatOf(problem, TensorId::kDw).dtype;
  const bool direct = storesSumsDirectly(asked, plan, dw, m.isa);
  // With rows innermost a kernel goes from one block of them to the next by itself; where sums are stored once, that is all.
  const bool storedOnce = direct && chunks <= 1;
  const bool repeats = storedOnce && plan.order == IterateOrder::kPixelsOuter;
  const double entry = repeats ? kRepeatCycles : kCallCycles;
  // Sums that one visit completes are stored to L1 and leave it at once.
  const bool severalTaps = plan.panelC && !swapped && v.taps() > 1;
  const bool atOnce = severalTaps && chunks <= 1;
  const double sumCycles = atOnce ? kSumCyclesAtOnce : m.rates.sumCycles;
  cost.callCycles = calls * (entry + sumCycles * accs + segments * 2.0 * kSegmentCycles);

  const double chunkSteps = columnPairs ? chunkPixels / 2 : chunkPixels;
  // A visit streams its lane vectors and a line per row block and pixel.
  const double laneElement = plan.panelB ? 4.0 : static_cast<double>(byteSize(lane.dtype));
  // Pairs that the kernel forms take a line of each member at least.
  const double laneBytes =
      (formed ? 2.0 * std::max(64.0, meanVectors * lanes * laneElement) : meanVectors * lanes * laneElement) *
      (swapped ? 1.0 : static_cast<double>(readPerOutput(v, 2)));
  const double rowBytes = row.channelsLast || plan.panelA ? 64.0 * linesOfRows : meanRows * 4;
  // What a pixel's channel takes of a chunk. Pairs of columns: dot products read a word for every other column, but the big
  // tensor's every column if its taps overlap. Cut planes and rows are read with what the taps reach around them.
  const auto withReach = [&](bool cut, int axis, std::int64_t length) {
    const std::int64_t around = std::max<std::int64_t>(0, (v.kernel[axis] - 1) * v.dilation[axis] + 1 - v.stride[axis]);
    return cut ? 1.0 + static_cast<double>(around) / static_cast<double>(length * v.stride[axis]) : 1.0;
  };
  const double smallEach = columnPairs ? 2.0 : 4.0;
  const double reach = withReach(!v.line && plan.panelD < v.small.extent.d, 0, plan.panelD) *
                       withReach(!v.line && plan.panelH < v.small.extent.h, 1, plan.panelH);
  const double bigEach = (columnPairs && v.kernel.w == 1 ? 2.0 : 4.0) * reach;
  const double laneEach = swapped ? smallEach : bigEach, rowEach = swapped ? bigEach : smallEach;
  const double parts = static_cast<double>(plan.cores.channelsM * plan.cores.channelsN);
  const double laneShare = static_cast<double>(lane.channels) / static_cast<double>(plan.cores.channelsN),
               rowShare = static_cast<double>(row.channels) / static_cast<double>(plan.cores.channelsM);
  const double scratch =
      groups * laneBlocks * vectors * lanes * static_cast<double>(row.channels) * static_cast<double>(v.taps()) * 4;
  // The inner loop's operand stays near while the other one streams past, once per block of the outer loop.
  const double bigRead = static_cast<double>(readPerOutput(v)), rowScale = swapped ? bigRead : 1.0,
               laneScale = swapped ? 1.0 : bigRead;
  const double rowChunk = chunkPixels * rowEach * static_cast<double>(row.channels) * rowScale,
               laneChunk = chunkPixels * laneEach * static_cast<double>(lane.channels) * laneScale;
  const double chunkBytes = chunkPixels * (smallEach * static_cast<double>(v.small.channels) +
                                           bigEach * static_cast<double>(v.big.channels) * bigRead);
  const bool lanesOutside = plan.order == IterateOrder::kPixelsOuter;
  const double laneStream = chunkSteps * laneBytes * (swapped ? 1.0 : reach),
               rowStream = chunkSteps * rowBytes * (swapped ? reach : 1.0);
  // Between two uses of the one that stays lies what streamed past. First layers: panels that fill L2 with what they are filled from
  // leave nothing there for the taps of the next planes and rows.
  const bool fills = plan.panelA && v.kernel.d * v.kernel.h > 1 && row.channels <= kFewRowChannels;
  const double filled = fills ? kPanelsAndSources * chunkBytes : 0.0;
  const auto reuseRate = [&](double between) {
    const bool near = filled <= kL2Share * static_cast<double>(m.buffers.l1Bytes);
    return reuseBytesPerCycle(m, near ? between : std::max(between, filled));
  };
  const double laneRate = reuseRate((lanesOutside ? laneStream : laneChunk) + rowStream);
  const double rowRate = reuseRate((lanesOutside && !(atOnce && outerTaps > 1) ? rowChunk : rowStream) + laneStream);
  double memory = pixelSteps * tiles * (laneBytes / laneRate + rowBytes / rowRate);
  // Lines that a tile step takes from beyond L1 are not all hidden. What the inner loop keeps stays in L1 if it fits;
  // the rest comes from L2 if the task's part of the chunk fits there. A late vector stops a whole step, a late scalar one row.
  const double partBytes = chunkPixels * (laneEach * laneShare * laneScale + rowEach * rowShare * rowScale);
  const double beyond = partBytes <= 0.7 * static_cast<double>(m.buffers.l1Bytes) ? 1.0 : kFarLines;
  const auto lineCycles = [&](double lines, double each) {
    return chunkSteps * lines * 64 <= kLinesOfL1 * keptByL1(m) ? 0.0 : each * beyond * m.rates.lateLines;
  };
  const double laneLines = laneBytes / 64.0,
               rowLines = row.channelsLast || plan.panelA ? meanRows / 16.0 + 0.9 : meanRows / 16.0;
  if (v.kernel.w > 1 && !lanesOutside) cost.computeCycles *= kStreamedLanes;
  if (v.kernel.w == 1)  // with more taps the next columns are asked for before they are needed
    cost.computeCycles += pixelSteps * tiles *
                          (laneLines * lineCycles(lanesOutside ? laneLines : laneShare / 16.0, kLaneLineCycles) +
                           rowLines * lineCycles(lanesOutside ? rowShare / 16.0 : rowLines, kRowLineOfTileCycles));
  const double near = plan.panelC
                          ? scratch / (groups * static_cast<double>(plan.cores.channelsM * plan.cores.channelsN))
                          : scratch * static_cast<double>(plan.cores.reduction) / cores + chunkBytes;
  if (chunks > 1) memory += chunks * 2.0 * scratch / bytesPerCycle(m, near, true);
  // Tasks that share accumulators find theirs scattered among the others': a call waits for what comes from beyond L2.
  if (chunks > 1 && !direct && !plan.panelC && parts > 1)
    cost.callCycles +=
        calls * accs * std::max(0.0, 128.0 / std::max(m.rates.l3BytesPerCycle, bytesPerCycle(m, near, true)) - 4.5);
  // Every task reads its rows and its lanes of all pixels.
  memory += (static_cast<double>(row.bytes) * static_cast<double>(plan.cores.channelsN) +
             static_cast<double>(lane.bytes) * static_cast<double>(plan.cores.channelsM)) /
            bytesPerCycle(m, static_cast<double>(v.big.bytes + v.small.bytes), true);
  // Rows read from a plain tensor are planes apart: a power-of-two distance makes them collide in L1.
  if (!row.channelsLast && !plan.panelA && row.cStride % 4096 == 0 && meanRows > 6) memory *= 2;
  cost.memoryCycles = memory;

  const double splits = static_cast<double>(plan.cores.reduction);
  double moves = 0;
  const auto coldChunks = [&](const TensorView& t) {
    return groups * std::min(chunks * kColdChunkCycles, static_cast<double>(t.bytes) / 8.0);
  };
  const auto staged = [&](const TensorView& t, bool big) {
    const double around = big ? withReach(true, 0, plan.panelD) * withReach(true, v.line ? 2 : 1, plan.panelH) : 1.0;
    // Each image, plane and block of channels of a chunk is a call.
    const double calls = t.c0 == 0 ? 0 : chunks * static_cast<double>(chunked.baseBatch * plan.panelD) * panelPieces(t);
    // Nothing is computed meanwhile: tensors come at the pace of memory, and prefetchers begin anew with each chunk.
    const double pace = 16.0 * static_cast<double>(byteSize(t.dtype)) /
                        bytesPerCycle(m, static_cast<double>(v.big.bytes + v.small.bytes), true);
    const double each = panelCycles(t, m) / static_cast<double>(imagesOfWord(pairs) * wordSpacing(v, pairs, big));
    const double read =
        static_cast<double>(t.extent.volume()) / static_cast<double>((big ? asked.big : asked.small).extent.volume());
    return panelVectors(t) * read * around * std::max(each, pace) + calls * groups * kCallCycles + coldChunks(t);
  };
  if (widened > 1.0) moves += coldChunks(lane);
  if (!plan.panelB && lane.channelsLast && plan.baseVectors == 1 && laneBlocks > 1 &&
      isFar(m, static_cast<double>(v.big.bytes + v.small.bytes)))
    moves += static_cast<double>(lane.bytes) * (swapped ? 1.0 : reach) / 64.0 * kLonelyLineCycles *
             std::min(1.0, kFewLines / laneBlocks);
  if (plan.panelA) moves += staged(row, swapped) * static_cast<double>(plan.cores.channelsN);
  if (plan.panelB) moves += staged(lane, !swapped) * static_cast<double>(plan.cores.channelsM);
  // Accumulator rows that are multiples of 4 KiB apart in dw compete for one L1 set, and each lies on a page of its own.
  if (direct && lane.channels * byteSize(dw) % 2048 == 0 && rows > 8)
    cost.callCycles += calls * accs * m.rates.crowdedStores;
  // Few sums for what is stored: lines of rows side by side go to as many pages in turn.
  if (storedOnce) cost.memoryCycles += scratch / 64.0 * kRowOfLineCycles * (meanRows - 1);
  const double result =
      static_cast<double>(v.small.channels * v.big.channels * v.groups * v.taps()) * static_cast<double>(byteSize(dw));
  cost.memoryCycles += 1.5 * result / bytesPerCycle(m, result, true);
  // Shared accumulators go out to memory and come back before they are unpacked.
  if (!direct && !plan.panelC) moves += (2.0 * splits + 1.0) * scratch / bytesPerCycle(m, splits * scratch, true);
  if (!direct)
    moves += scratch / 64.0 *
             (m.rates.transposeCycles + (severalTaps && !atOnce ? kFarSumCycles : 0.0) + 3.0 * (splits - 1));
  // Lanes that are rows of dw: each block of them goes to as many rows, which lie on pages of their own.
  if (swapped && scratch > 0.75 * static_cast<double>(m.buffers.l1Bytes))
    moves += scratch / 64.0 / static_cast<double>(v.taps()) * kFarRowCycles;
  cost.moveCycles = moves;

  const double tasks = groups * std::min(splits, chunks) * parts;
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  double spread = deal.imbalance(plan.cores.reduction, v.groups * plan.cores.channelsM * plan.cores.channelsN, m.cores);
  // Parts are whole blocks, and the last block of rows or lanes is smaller than the others. Many tasks even that out.
  const bool few = groups * parts < 4 * cores;
  const auto unequal = [&](double blocks, double pieces, std::int64_t count) {
    const int each = static_cast<int>(count);
    const double rest = imbalance(1.0, pieces, each);
    return count > 1 ? std::max(imbalance(blocks, each), few && rest > kEvenParts ? rest : 1.0) : 1.0;
  };
  spread *= unequal(rowBlocks, static_cast<double>(row.channels) / rows, plan.cores.channelsM) *
            unequal(laneBlocks, laneVectors / vectors, plan.cores.channelsN);
  cost.totalCycles = busy / cores * spread + tasks * 100.0 / cores;
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
  return cost;
}

}  // namespace cubejit
