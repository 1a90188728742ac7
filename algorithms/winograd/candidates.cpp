// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides tile sizes, register blocks, panels and splits of Winograd plans.
#include "algorithms/winograd/winograd.h"

#include <algorithm>

#include "algorithms/winograd/matrices.h"
#include "algorithms/winograd/shape.h"

namespace cubejit {
namespace {

constexpr std::int64_t kLargestTile = 6;  // larger ones save little more, and have larger errors

// Tiles that its points allow and that need fewer products than all that are smaller.
std::vector<std::int64_t> tilesOf(std::int64_t taps, std::int64_t elements) {
  if (taps == 1) return {1};
  std::vector<std::int64_t> tiles;
  std::int64_t fewest = 0;
  for (std::int64_t m = 2; m <= std::min(kLargestTile, kMostWinogradPoints + 1 - taps); ++m) {
    const std::int64_t products = divUp(elements, m) * (m + taps - 1);
    if (!tiles.empty() && products >= fewest) continue;
    tiles.push_back(m);
    fewest = products;
  }
  return tiles;
}

// Rows of tiles whose points take about `bytes`.
std::int64_t rowsFor(const WinogradShape& s, std::int64_t channels, double bytes) {
  const double row = static_cast<double>(s.volume() * s.tilesOfRow * channels * 4);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes / row), 1, s.rows);
}

void addData(const WinogradShape& s, const Machine& m, WinogradDataPlan plan, std::vector<WinogradDataPlan>& out) {
  const std::int64_t channels = s.patchedResidues() * s.patched.channels + plan.registerVectors * m.isa.lanes();
  const std::int64_t blocks = divUp(s.tiled.channels, plan.registerVectors * m.isa.lanes());
  std::int64_t last = 0;
  for (const double share : {0.6, 1.5, 6.0}) {
    for (const bool split : {false, true}) {
      if (split && (blocks < m.cores || m.cores < 2)) continue;
      const std::int64_t most = rowsFor(s, channels, share * static_cast<double>(m.buffers.l1Bytes));
      const std::int64_t even = split ? s.rows : divUp(s.rows, m.cores);
      plan.cacheRows = equalPiece(even, most);
      plan.channelParts = split ? m.cores : 1;
      const std::int64_t key = plan.cacheRows * 2 + (split ? 1 : 0);
      if (key != last) out.push_back(plan);
      last = key;
    }
  }
}

// Weights are transformed by the task that uses them, one block of channels each; patches beforehand.
void addDataBlocks(const WinogradShape& s, const Machine& m, WinogradDataPlan plan,
                   std::vector<WinogradDataPlan>& out) {
  plan.perTask = true;
  const std::int64_t channels = plan.registerVectors * m.isa.lanes();
  plan.cacheRows = s.rows;
  const double filter = 0.5 * static_cast<double>(m.buffers.l1Bytes) /
                        static_cast<double>(s.patchedResidues() * s.volume() * channels * 4);
  plan.cacheChannels =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(filter), 16, std::max<std::int64_t>(16, s.patched.channels));
  plan.channelParts = divUp(s.tiled.channels, channels);
  out.push_back(plan);
}

// Parts of dw whose accumulators fit a share of L2, cut along the longer side; tiles are transformed beforehand.
void addWeightParts(const WinogradShape& s, const Machine& m, WinogradWeightsPlan plan,
                    std::vector<WinogradWeightsPlan>& out) {
  plan.bufferC = true;
  plan.cacheRows = s.rows;
  const std::int64_t width = plan.registerVectors * m.isa.lanes(),
                     rowBlocks = divUp(s.tiled.channels, plan.registerRows),
                     laneBlocks = divUp(s.patched.channels, width);
  std::int64_t rowParts = 1, laneParts = 1;
  for (;;) {
    const std::int64_t rows = divUp(rowBlocks, rowParts) * plan.registerRows,
                       lanes = divUp(laneBlocks, laneParts) * width;
    const bool fits =
        static_cast<double>(rows * lanes * s.residues * s.volume() * 4) <= 0.5 * static_cast<double>(m.buffers.l1Bytes);
    if (fits && s.view.groups * rowParts * laneParts >= 2L * m.cores) break;
    const bool cutRows = rowParts < rowBlocks && (rows >= lanes || laneParts >= laneBlocks);
    if (!cutRows && laneParts >= laneBlocks) break;
    (cutRows ? rowParts : laneParts) *= 2;
    rowParts = std::min(rowParts, rowBlocks);
    laneParts = std::min(laneParts, laneBlocks);
  }
  plan.rowParts = rowParts;
  plan.vectorParts = laneParts;
  out.push_back(plan);
}

void addWeights(const WinogradShape& s, const Machine& m, WinogradWeightsPlan plan,
                std::vector<WinogradWeightsPlan>& out) {
  const std::int64_t channels = s.tiled.channels + s.residues * s.patched.channels,
                     rowBlocks = divUp(s.tiled.channels, plan.registerRows);
  for (const double share : {0.6, 1.5, 6.0}) {
    plan.cacheRows = equalPiece(s.rows, rowsFor(s, channels, share * static_cast<double>(m.buffers.l1Bytes)));
    const std::int64_t blocks = divUp(s.rows, plan.cacheRows);
    plan.rowParts = 1;
    plan.reductionParts = pointSums(s, plan).leastParts();
    if (rowBlocks >= m.cores) {
      plan.rowParts = std::min<std::int64_t>(rowBlocks, m.cores);
      out.push_back(plan);
      plan.rowParts = 1;
    }
    for (std::int64_t splits : {std::int64_t{m.cores}, std::int64_t{4} * m.cores}) {
      if (blocks < splits) plan.cacheRows = equalPiece(s.rows, divUp(s.rows, splits));
      const PartialSums sums = pointSums(s, plan);
      plan.reductionParts = std::min(std::max(splits, sums.leastParts()), sums.blocks);
      out.push_back(plan);
    }
  }
}

// Plans of every size of tile and register block; `add(plan, laneVectors)` adds those that the rest of a plan can be.
template <class Plan, class Add>
void forTiles(const Problem& problem, const Machine& m, const Add& add) {
  if (!winogradApplies(problem, Plan::kPass).empty()) return;
  const WinogradShape s = winogradShape(problem, Plan{});  // tiles of one element
  const ConvView& v = s.view;
  const TensorView& lane = Plan::kPass == Pass::kDx && !v.bigIsX ? v.small : v.big;
  const std::int64_t laneVectors = divUp(lane.channels, m.isa.lanes());
  for (const std::int64_t d : tilesOf(s.taps[0], s.tiles[0])) {
    for (const std::int64_t h : tilesOf(s.taps[1], s.tiles[1])) {
      for (const std::int64_t w : tilesOf(s.taps[2], s.tiles[2])) {
        Plan tiles;
        tiles.tileD = d;
        tiles.tileH = h;
        tiles.tileW = w;
        const WinogradShape cut = winogradShape(problem, tiles);
        if (winogradErrorGrowth(cut) > kMostErrorGrowth) continue;
        // Panels of rows stay in L2, or reorders are better.
        if (panelBytes(cut, true) + panelBytes(cut, false) > m.buffers.l1Bytes) continue;
        for (std::int64_t vectors = 1; vectors <= std::min<std::int64_t>(3, laneVectors); ++vectors) {
          Plan plan = tiles;
          plan.registerVectors = vectors;
          plan.registerRows = std::max<std::int64_t>(1, (usableRegisters(m, false) - vectors - 1) / vectors);
          add(plan, laneVectors);
        }
      }
    }
  }
}

}  // namespace

std::vector<WinogradDataPlan> winogradDataCandidates(const Problem& problem, const Machine& m) {
  std::vector<WinogradDataPlan> out;
  forTiles<WinogradDataPlan>(problem, m, [&](const WinogradDataPlan& plan, std::int64_t) {
    const WinogradShape s = winogradShape(problem, plan);
    addData(s, m, plan, out);
    addDataBlocks(s, m, plan, out);
  });
  return out;
}

std::vector<WinogradWeightsPlan> winogradWeightCandidates(const Problem& problem, const Machine& m) {
  std::vector<WinogradWeightsPlan> out;
  forTiles<WinogradWeightsPlan>(problem, m, [&](WinogradWeightsPlan plan, std::int64_t laneVectors) {
    if (laneVectors % plan.registerVectors != 0) return;
    const WinogradShape s = winogradShape(problem, plan);
    plan.registerRows = equalPiece(s.tiled.channels, plan.registerRows);
    addWeights(s, m, plan, out);
    addWeightParts(s, m, plan, out);
  });
  return out;
}

}  // namespace cubejit
