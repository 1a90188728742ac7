// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the candidate plans of a weight gradient: which tensor's channels are lanes, the tile, chunks of pixels, splits.
#include "algorithms/direct_weights/direct_weights.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "algorithms/direct_weights/shape.h"
#include "algorithms/direct_weights/weight_view.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/reorder.h"

namespace cubejit {
namespace {

struct Tile {
  std::int64_t rows, taps, vectors;
};

// Nothing is summed for long: the fewer rows are stored to at once, and the more of each, the better.
bool fewPixels(const ConvView& v) { return v.taps() == 1 && v.batch * v.small.extent.volume() <= 64; }

// The most rows, up to `most`, that blocks of channels are cut into without rest; 0: the tensor has none whose rows are read in place.
std::int64_t rowsOfBlocks(const TensorView& row, std::int64_t most, bool dots) {
  if (row.c0 == 0 || dots || row.dtype != DType::kF32) return 0;
  std::int64_t rows = std::min(most, row.c0);
  while (row.c0 % rows != 0 || (rows > 1 && rows / 2 >= row.channels)) --rows;
  return rows;
}

// Tiles (rows x taps x vectors) that fit the registers, equalised so that tails are small.
std::vector<Tile> tilesOf(const ConvView& v, const Machine& m, bool swapped, bool dots) {
  std::vector<Tile> tiles;
  const TensorView &lane = swapped ? v.small : v.big, &row = swapped ? v.big : v.small;
  const std::int64_t lanes = m.isa.lanes();
  const bool brief = fewPixels(v);
  const std::int64_t regs = usableRegisters(m, lane.channels % lanes != 0) - (dots ? 2 : 1);
  for (std::int64_t vectors = 1; vectors <= std::min<std::int64_t>(brief ? 8 : 4, divUp(lane.channels, lanes));
       vectors += vectors < 4 ? 1 : 4) {
    std::int64_t lastTaps = 0;
    for (std::int64_t pieces = 1; pieces <= v.kernel.w; ++pieces) {
      const std::int64_t taps = divUp(v.kernel.w, pieces);
      if (taps == lastTaps) continue;
      lastTaps = taps;
      const std::int64_t operands = swapped ? vectors : vectors * taps;
      const std::int64_t most = (regs - operands) / (vectors * taps);
      if (most < 1) continue;
      std::int64_t lastRows = 0;
      const std::int64_t ofBlocks = rowsOfBlocks(row, most, dots);
      if (ofBlocks > 0) tiles.push_back(Tile{ofBlocks, taps, vectors});
      if (ofBlocks > 0 && v.taps() == 1) continue;
      for (const std::int64_t limit : {most, most - 1, most / 2, std::int64_t{3}, std::int64_t{2}}) {
        if (limit < 1 || limit > most || (limit <= 3 && limit < most / 2 && !brief)) continue;
        const std::int64_t rows = equalPiece(row.channels, limit);
        if (rows == lastRows) continue;
        lastRows = rows;
        if (rows * taps * vectors >= 4 || row.channels * taps < 4) tiles.push_back(Tile{rows, taps, vectors});
      }
      if (taps <= 2) break;
    }
  }
  if (tiles.empty()) tiles.push_back(Tile{1, 1, 1});
  return tiles;
}

// Taps' channels side by side: worth it where channels alone leave lanes idle.
std::vector<Tile> joinedTiles(const ConvView& v, const Machine& m, bool dots) {
  const std::int64_t lanes = m.isa.lanes(), vectors = divUp(v.kernel.w * v.big.channels, lanes);
  if (v.kernel.w == 1 || v.dilation.w != 1 || v.big.channels % lanes == 0) return {};
  const std::int64_t most = (usableRegisters(m, true) - (dots ? 2 : 1) - vectors) / vectors;
  std::vector<Tile> tiles;
  for (const std::int64_t limit : {most, most - 1}) {
    if (limit < 1) continue;
    const Tile tile{equalPiece(v.small.channels, limit), 1, vectors};
    if (tiles.empty() || tiles.back().rows != tile.rows) tiles.push_back(tile);
  }
  return tiles;
}

// Chunks: as many pixels (or words, each of two images) as fit a share of L2, in whole rows, planes or images.
void setChunk(const ConvView& v, PixelPairs pairs, TilingPlan& plan, double budgetBytes) {
  const Dhw& e = v.small.extent;
  const double pixelBytes =
      4.0 * (static_cast<double>(v.small.channels) + static_cast<double>(v.big.channels * readPerOutput(v)));
  const auto all = static_cast<double>(v.batch * e.volume());
  const auto pixels = static_cast<std::int64_t>(std::max(64.0, std::min(budgetBytes / pixelBytes, all)));
  plan.baseBatch = plan.panelD = plan.panelH = 1;
  if (v.line) {
    plan.panelH = std::min(e.w, std::max<std::int64_t>(16, divUp(equalPiece(e.w, pixels), 8) * 8));
    if (plan.panelH >= e.w)
      plan.baseBatch = imagesOfWord(pairs) * std::clamp<std::int64_t>(pixels / std::max<std::int64_t>(1, e.w), 1,
                                                                      std::max<std::int64_t>(1, v.batch));
    return;
  }
  plan.panelH = equalPiece(e.h, std::max<std::int64_t>(1, pixels / std::max<std::int64_t>(1, e.w)));
  if (plan.panelH < e.h) return;
  plan.panelD = equalPiece(e.d, std::max<std::int64_t>(1, pixels / std::max<std::int64_t>(1, e.w * e.h)));
  if (plan.panelD < e.d) return;
  plan.baseBatch = imagesOfWord(pairs) * std::clamp<std::int64_t>(pixels / std::max<std::int64_t>(1, e.volume()), 1,
                                                                  std::max<std::int64_t>(1, v.batch));
}

// What is dealt to tasks: blocks of rows and of lanes.
struct Blocks {
  std::int64_t rows, lanes;
};

// Parts of blocks, cut along the side with more `bytes(rows, lanes)` of its own until a part fits `budget` and every core has a few;
// false if not even the smallest fit.
template <class Bytes>
bool cutParts(const ConvView& v, const Machine& m, TilingPlan& plan, Blocks blocks, double budget, Bytes bytes) {
  const std::int64_t width = plan.baseVectors * m.isa.lanes();
  std::int64_t rowParts = 1, laneParts = 1;
  bool fits = false;
  for (;;) {
    const auto rows = static_cast<double>(divUp(blocks.rows, rowParts) * plan.baseRows),
               lanes = static_cast<double>(divUp(blocks.lanes, laneParts) * width);
    fits = bytes(rows, lanes) <= budget;
    if (fits && v.groups * rowParts * laneParts >= 4L * m.cores) break;
    const bool moreRows =
        bytes(rows, 0.0) > bytes(0.0, lanes) || (bytes(rows, 0.0) == bytes(0.0, lanes) && rows >= lanes);
    const bool cutRows = rowParts < blocks.rows && (moreRows || laneParts >= blocks.lanes);
    if (!cutRows && laneParts >= blocks.lanes) break;
    (cutRows ? rowParts : laneParts) *= 2;
    rowParts = std::min(rowParts, blocks.rows);
    laneParts = std::min(laneParts, blocks.lanes);
  }
  plan.cores.channelsM = rowParts;
  plan.cores.channelsN = laneParts;
  return fits;
}

// Parts whose accumulators fit a share of L2.
void privateParts(const ConvView& v, const Machine& m, TilingPlan& plan, Blocks blocks) {
  const auto bytes = [&](double rows, double lanes) { return rows * lanes * static_cast<double>(v.taps() * 4); };
  cutParts(v, m, plan, blocks, kPrivateShare * static_cast<double>(m.buffers.l1Bytes), bytes);
}

// Parts whose operands, all pixels of them, fit `share` of L2.
bool wholeParts(const ConvView& v, const Machine& m, TilingPlan& plan, Blocks blocks, double share) {
  const bool swapped = plan.lanes == LaneRole::kSwapped;
  const auto pixels = 4.0 * static_cast<double>(v.batch * v.small.extent.volume()),
             read = static_cast<double>(readPerOutput(v));
  const auto bytes = [&](double rows, double lanes) {
    return pixels * (rows * (swapped ? read : 1.0) + lanes * (swapped ? 1.0 : read));
  };
  return cutParts(v, m, plan, blocks, share * static_cast<double>(m.buffers.l1Bytes), bytes);
}

// Chunks of all pixels: a block's sums are complete after one visit, and are unpacked while they are in L1.
void addWholeChunks(const ConvView& v, const Machine& m, PixelPairs pairs, TilingPlan plan, Blocks blocks,
                    std::vector<TilingPlan>& out) {
  setChunk(v, pairs, plan, std::numeric_limits<double>::infinity());
  plan.cores = CoreSplit{};
  plan.cores.groups = v.groups;
  plan.panelC = true;
  for (const double share : {0.35, 0.7}) {
    if (!wholeParts(v, m, plan, blocks, share)) continue;
    for (const IterateOrder order : {IterateOrder::kPixelsOuter, IterateOrder::kChannelsOuter}) {
      plan.order = order;
      out.push_back(plan);
    }
  }
}

// Which operands go through panels, lanes first: what kernels cannot read where it lies. Lanes must be contiguous, and are widened or
// paired as they are read, which pays if they are read for long; rows are broadcast, so they must be f32, but may be read plane by plane.
std::vector<std::pair<bool, bool>> stagings(const ConvView& v, const Machine& m, LaneRole lanes, const Tile& tile,
                                            bool dots) {
  const bool swapped = lanes == LaneRole::kSwapped, joined = lanes == LaneRole::kTaps;
  const TensorView &lane = swapped ? v.small : v.big, &row = swapped ? v.big : v.small;
  std::vector<std::pair<bool, bool>> out;
  const bool follow = !joined || (lane.channelsLast && lane.wStride == lane.channels * byteSize(lane.dtype));
  const bool as = follow && lane.vectorsInPlace(m.isa.lanes(), tile.vectors * m.isa.lanes()),
             exact = as && lane.dtype == DType::kF32 && !dots;
  const bool lanesInPlace = exact || (as && !fewPixels(v)), rowsInPlace = !dots && row.scalarsInPlace(tile.rows);
  for (const bool stageLanes : {false, true}) {
    if (stageLanes ? exact && !crowds(m, v, lane) : !lanesInPlace) continue;
    for (const bool stageRows : {false, true}) {
      const bool runs = row.direct() || (row.c0 > 0 && v.taps() == 1);  // a panel would not be read faster
      if (stageRows ? rowsInPlace && runs && !crowds(m, v, row) : !rowsInPlace) continue;
      const bool bothOrNone = v.kernel.w > 1 && !dots && lane.direct() && row.direct();  // crowded, several taps
      if (bothOrNone && stageLanes != stageRows) continue;
      out.emplace_back(stageLanes, stageRows);
    }
  }
  return out;
}

// One tap: the first block of rows leaves its lanes in a panel for the others. Each part of the rows would read them again, so only
// lanes and pixels are dealt out.
void addFirstTouch(const WeightView& view, const Machine& m, TilingPlan plan, Blocks blocks,
                   std::vector<TilingPlan>& out) {
  const ConvView& v = view.words;
  if (v.taps() > 1 || plan.panelB || blocks.rows < kFewestTouches) return;
  const double steps = pixelsOfChunk(view, plan) / (view.pairs == PixelPairs::kColumns ? 2 : 1);
  const double copies = steps * static_cast<double>(plan.baseVectors * m.isa.lanes() * 4);
  if (copies > kCopiesShare * static_cast<double>(m.buffers.l1Bytes)) return;
  plan.firstTouch = true;
  plan.order = IterateOrder::kPixelsOuter;
  plan.cores = CoreSplit{};
  plan.cores.groups = v.groups;
  for (const std::int64_t parts : {std::int64_t{m.cores}, std::int64_t{4} * m.cores}) {
    plan.cores.channelsN = std::min(blocks.lanes, parts);
    plan.cores.reduction = 1;
    out.push_back(plan);
    plan.cores.channelsN = 1;
    plan.cores.reduction = parts;
    if (parts > 1) out.push_back(plan);
  }
  const auto sums =
      static_cast<double>(blocks.rows * plan.baseRows * blocks.lanes * plan.baseVectors * m.isa.lanes() * 4);
  const auto parts = static_cast<std::int64_t>(sums / (kPrivateShare * static_cast<double>(m.buffers.l1Bytes))) + 1;
  plan.cores.reduction = 1;
  plan.cores.channelsN = std::min(blocks.lanes, std::max<std::int64_t>(parts, m.cores));
  plan.panelC = true;
  out.push_back(plan);
}

}  // namespace

std::vector<TilingPlan> weightCandidates(const Problem& problem, const Machine& m) {
  const bool dots = m.isa.bf16Dot && dotApplies(problem, Gradient::kDw);
  const WeightView view = weightView(problem, dots);
  const ConvView& v = view.words;
  std::vector<TilingPlan> out;
  for (const LaneRole role : {LaneRole::kChannels, LaneRole::kSwapped, LaneRole::kTaps}) {
    const bool swapped = role == LaneRole::kSwapped;
    const TensorView &lane = swapped ? v.small : v.big, &row = swapped ? v.big : v.small;
    for (const Tile& tile : role == LaneRole::kTaps ? joinedTiles(v, m, dots) : tilesOf(v, m, swapped, dots)) {
      TilingPlan plan;
      plan.gradient = Gradient::kDw;
      plan.lanes = role;
      plan.baseRows = tile.rows;
      plan.baseTapsW = tile.taps;
      plan.baseVectors = tile.vectors;
      plan.unroll = std::clamp<std::int64_t>(200 / (tile.rows * tile.taps * tile.vectors), 4, 16);
      const Blocks blocks{divUp(row.channels, tile.rows),
                          role == LaneRole::kTaps ? 1 : divUp(lane.channels, tile.vectors * m.isa.lanes())};
      plan.dotProducts = dots;
      for (const auto& [stageLanes, stageRows] : stagings(v, m, role, tile, dots)) {
        plan.panelB = stageLanes;
        plan.panelA = stageRows;
        plan.panelH = 0;
        if (!swapped && v.taps() > 1) addWholeChunks(v, m, view.pairs, plan, blocks, out);
        for (const double share : {0.1, 0.3, 0.6, 1.5, 4.0}) {
          if (share > 2 && v.taps() > 1) continue;  // later taps find nothing there
          const TilingPlan last = plan;
          setChunk(v, view.pairs, plan, share * static_cast<double>(m.buffers.l1Bytes));
          if (plan.panelH == last.panelH && plan.panelD == last.panelD && plan.baseBatch == last.baseBatch) continue;
          addFirstTouch(view, m, plan, blocks, out);
          for (const IterateOrder order : {IterateOrder::kPixelsOuter, IterateOrder::kChannelsOuter}) {
            plan.order = order;
            plan.cores = CoreSplit{};
            plan.cores.groups = v.groups;
            plan.panelC = true;
            privateParts(v, m, plan, blocks);
            out.push_back(plan);
            plan.panelC = false;
            // Either whole tiles are dealt out (each task sums all pixels), or pixel ranges are summed apart.
            for (const std::int64_t parts : std::array<std::int64_t, 3>{1, m.cores, 4L * m.cores}) {
              plan.cores = CoreSplit{};
              plan.cores.groups = v.groups;
              plan.cores.channelsM = std::min(blocks.rows, parts);
              plan.cores.channelsN = std::min(blocks.lanes, divUp(parts, plan.cores.channelsM));
              out.push_back(plan);
              if (parts > 1 && plan.cores.channelsM > 1 && blocks.lanes > 1) {
                plan.cores.channelsN = std::min(blocks.lanes, parts);
                plan.cores.channelsM = std::min(blocks.rows, divUp(parts, plan.cores.channelsN));
                out.push_back(plan);
              }
              if (parts == 1 && m.cores > 1) {
                plan.cores.reduction = m.cores;
                out.push_back(plan);
                plan.cores.reduction = 4L * m.cores;
                out.push_back(plan);
              }
            }
          }
        }
      }
    }
  }
  return out;
}

}  // namespace cubejit
