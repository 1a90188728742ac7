// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the candidate plans of a weight gradient: which tensor's channels are lanes, the tile, reduction blocks, splits.
#include "algorithms/direct_weights/direct_weights.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "algorithms/direct_weights/flat_rows.h"
#include "algorithms/direct_weights/rates.h"
#include "algorithms/direct_weights/shape.h"
#include "algorithms/direct_weights/weight_view.h"
#include "algorithms/kit/dot_products.h"

namespace cubejit {
namespace {

struct Tile {
  std::int64_t rows, taps, vectors;
};

constexpr std::int64_t kLongKernel = 64;  // taps along W, of which a block's remainder is a small share

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
std::vector<Tile> tilesOf(const ConvView& v, const Machine& m, bool operandsTransposed, bool dots) {
  std::vector<Tile> tiles;
  const TensorView &lane = operandsTransposed ? v.small : v.big, &row = operandsTransposed ? v.big : v.small;
  const std::int64_t lanes = m.isa.lanes();
  const bool brief = fewPixels(v);
  const std::int64_t regs = usableRegisters(m, lane.channels % lanes != 0) - (dots ? 2 : 1);
  for (std::int64_t vectors = 1; vectors <= std::min<std::int64_t>(brief ? 8 : 4, divUp(lane.channels, lanes));
       vectors += vectors < 4 ? 1 : 4) {
    std::int64_t lastTaps = 0, mostRows = 0;
    for (std::int64_t pieces = 1; pieces <= v.kernel.w; ++pieces) {
      const std::int64_t taps = divUp(v.kernel.w, pieces);
      if (taps == lastTaps) continue;
      lastTaps = taps;
      const std::int64_t rowsOfMoreTaps = mostRows;
      const std::int64_t operands = operandsTransposed ? vectors : vectors * taps;
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
        // Fewer taps make a long kernel's last block of them no fuller.
        if (v.kernel.w > kLongKernel && rows <= rowsOfMoreTaps) continue;
        mostRows = std::max(mostRows, rows);
        if (rows * taps * vectors >= 4 || row.channels * taps < 4) tiles.push_back(Tile{rows, taps, vectors});
      }
      if (taps <= 2) break;
    }
  }
  if (tiles.empty()) tiles.push_back(Tile{1, 1, 1});
  return tiles;
}

// Two by two tiles of a matrix unit, or as many as there are.
std::vector<Tile> matrixTiles(const ConvView& v) {
  if (v.big.plain() && v.stride.w > 1) return {};
  std::vector<Tile> tiles;
  for (const auto& [rows, vectors] : kTileBlocks) {
    const Tile tile{equalPiece(v.big.channels, rows * kTileRows), 1,
                    std::min(vectors, divUp(v.small.channels, kTileColumns))};
    const auto same = [&](const Tile& t) { return t.rows == tile.rows && t.vectors == tile.vectors; };
    if (std::none_of(tiles.begin(), tiles.end(), same)) tiles.push_back(tile);
  }
  return tiles;
}

// Taps' channels side by side: worth it where channels alone leave lanes idle.
std::vector<Tile> kernelWidthTiles(const ConvView& v, const Machine& m, bool dots) {
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

// Reduction blocks: as many pixels (or words, each of two images) as fit a share of L2, in whole rows, planes or images.
void setReduction(const ConvView& v, PixelPairs pairs, DirectWeightsPlan& plan, double budgetBytes) {
  const Dhw& e = v.small.extent;
  const double pixelBytes =
      4.0 * (static_cast<double>(v.small.channels) + static_cast<double>(v.big.channels * readPerOutput(v)));
  const auto all = static_cast<double>(v.batch * e.volume());
  const auto pixels = static_cast<std::int64_t>(std::max(64.0, std::min(budgetBytes / pixelBytes, all)));
  plan.reduction.n = plan.reduction.d = plan.reduction.h = 1;
  if (v.oneAxis) {
    plan.reduction.h = std::min(e.w, std::max<std::int64_t>(16, divUp(equalPiece(e.w, pixels), 8) * 8));
    if (plan.reduction.h >= e.w)
      plan.reduction.n = imagesOfWord(pairs) * std::clamp<std::int64_t>(pixels / std::max<std::int64_t>(1, e.w), 1,
                                                                        std::max<std::int64_t>(1, v.batch));
    return;
  }
  plan.reduction.h = equalPiece(e.h, std::max<std::int64_t>(1, pixels / std::max<std::int64_t>(1, e.w)));
  if (plan.reduction.h < e.h) return;
  plan.reduction.d = equalPiece(e.d, std::max<std::int64_t>(1, pixels / std::max<std::int64_t>(1, e.w * e.h)));
  if (plan.reduction.d < e.d) return;
  plan.reduction.n = imagesOfWord(pairs) * std::clamp<std::int64_t>(pixels / std::max<std::int64_t>(1, e.volume()), 1,
                                                                    std::max<std::int64_t>(1, v.batch));
}

// What is partitioned to tasks: blocks of rows and of lanes.
struct Blocks {
  std::int64_t rows, lanes;
};

// Parts of blocks, cut along the side with more `bytes(rows, lanes)` of its own until a part fits `budget` and every core has a few;
// false if not even the smallest fit.
template <class Bytes>
bool cutParts(const ConvView& v, const Machine& m, DirectWeightsPlan& plan, Blocks blocks, double budget, Bytes bytes) {
  const std::int64_t width = plan.registerVectors * m.isa.lanes();
  std::int64_t rowParts = 1, laneParts = 1;
  bool fits = false;
  for (;;) {
    const auto rows = static_cast<double>(divUp(blocks.rows, rowParts) * plan.registerRows),
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
  plan.rowParts = rowParts;
  plan.vectorParts = laneParts;
  return fits;
}

// Parts whose accumulators fit a share of L2.
void privateParts(const ConvView& v, const Machine& m, DirectWeightsPlan& plan, Blocks blocks) {
  const auto bytes = [&](double rows, double lanes) { return rows * lanes * static_cast<double>(v.taps() * 4); };
  cutParts(v, m, plan, blocks, kPrivateShare * static_cast<double>(m.buffers.l1Bytes), bytes);
}

// Parts whose operands, all pixels of them, fit `share` of L2.
bool wholeParts(const ConvView& v, const Machine& m, DirectWeightsPlan& plan, Blocks blocks, double share) {
  const bool operandsTransposed = plan.vectorize == WeightVectors::kTransposed;
  const auto pixels = 4.0 * static_cast<double>(v.batch * v.small.extent.volume()),
             read = static_cast<double>(readPerOutput(v));
  const auto bytes = [&](double rows, double lanes) {
    return pixels * (rows * (operandsTransposed ? read : 1.0) + lanes * (operandsTransposed ? 1.0 : read));
  };
  return cutParts(v, m, plan, blocks, share * static_cast<double>(m.buffers.l1Bytes), bytes);
}

// Reduction blocks of all pixels: a block's sums are complete after one pass, and are unpacked while they are in L1.
void addWholeReductions(const ConvView& v, const Machine& m, PixelPairs pairs, DirectWeightsPlan plan, Blocks blocks,
                        std::vector<DirectWeightsPlan>& out) {
  setReduction(v, pairs, plan, std::numeric_limits<double>::infinity());
  plan.rowParts = plan.vectorParts = plan.reductionParts = 1;
  plan.bufferC = true;
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
std::vector<std::pair<bool, bool>> stagings(const ConvView& v, const Machine& m, WeightVectors form, const Tile& tile,
                                            bool dots) {
  const bool operandsTransposed = form == WeightVectors::kTransposed, kernelWidth = form == WeightVectors::kKernelWidth;
  const TensorView &lane = operandsTransposed ? v.small : v.big, &row = operandsTransposed ? v.big : v.small;
  std::vector<std::pair<bool, bool>> out;
  const bool follow = !kernelWidth || (lane.channelsLast && lane.wStride == lane.channels * byteSize(lane.dtype));
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
// lanes and pixels are partitioned.
void addFirstUse(const WeightView& view, const Machine& m, DirectWeightsPlan plan, Blocks blocks,
                 std::vector<DirectWeightsPlan>& out) {
  const ConvView& v = view.words;
  if (v.taps() > 1 || plan.packsVectors() || blocks.rows < kFewestCopiedUses) return;
  const double steps = pixelsOfBlock(view, plan) / (view.pairs == PixelPairs::kColumns ? 2 : 1);
  const double copies = steps * static_cast<double>(plan.registerVectors * m.isa.lanes() * 4);
  if (copies > kCopiesShare * static_cast<double>(m.buffers.l1Bytes)) return;
  // A block is one chain.
  if (v.oneAxis && plan.reduction.n == 1)
    plan.reduction.h = std::min(plan.reduction.h, divUp(equalPiece(plan.reduction.h, kLongestChain), 8) * 8);
  const PartialSums sumsOfBlocks = ReductionPartition(view.asked, plan.reduction).sums();
  if (sumsOfBlocks.chainsOfBlock() > 1) return;
  const std::int64_t least = sumsOfBlocks.leastParts();
  plan.packB = PackVectors::kFirstUse;
  plan.order = IterateOrder::kPixelsOuter;
  plan.rowParts = plan.vectorParts = 1;
  for (const std::int64_t parts : {std::int64_t{m.cores}, std::int64_t{4} * m.cores}) {
    plan.vectorParts = std::min(blocks.lanes, parts);
    plan.reductionParts = least;
    out.push_back(plan);
    plan.vectorParts = 1;
    plan.reductionParts = parts;
    if (parts > least) out.push_back(plan);
  }
  if (least > 1) return;
  const auto sums =
      static_cast<double>(blocks.rows * plan.registerRows * blocks.lanes * plan.registerVectors * m.isa.lanes() * 4);
  const auto parts = static_cast<std::int64_t>(sums / (kPrivateShare * static_cast<double>(m.buffers.l1Bytes))) + 1;
  plan.reductionParts = 1;
  plan.vectorParts = std::min(blocks.lanes, std::max<std::int64_t>(parts, m.cores));
  plan.bufferC = true;
  out.push_back(plan);
}

// What multiplies pixels: vectors, of pairs or not, or a matrix unit.
enum class Multiplier : std::uint8_t { kVectors, kPairs, kMatrixUnit };

std::vector<Tile> tilesFor(const ConvView& v, const Machine& m, WeightVectors role, Multiplier by) {
  if (by == Multiplier::kMatrixUnit) return role == WeightVectors::kTransposed ? matrixTiles(v) : std::vector<Tile>{};
  const bool dots = by == Multiplier::kPairs;
  return role == WeightVectors::kKernelWidth ? kernelWidthTiles(v, m, dots)
                                             : tilesOf(v, m, role == WeightVectors::kTransposed, dots);
}

void addCandidates(const Problem& problem, const Machine& m, Multiplier by, std::vector<DirectWeightsPlan>& out) {
  const bool dots = by != Multiplier::kVectors, tiles = by == Multiplier::kMatrixUnit;
  const WeightView view = weightView(problem, dots, tiles);
  const ConvView& v = view.words;
  for (const WeightVectors role : {WeightVectors::kChannels, WeightVectors::kTransposed, WeightVectors::kKernelWidth}) {
    const bool operandsTransposed = role == WeightVectors::kTransposed;
    const TensorView &lane = operandsTransposed ? v.small : v.big, &row = operandsTransposed ? v.big : v.small;
    for (const Tile& tile : tilesFor(v, m, role, by)) {
      DirectWeightsPlan plan;
      plan.vectorize = role;
      plan.registerRows = tile.rows;
      plan.registerTaps = tile.taps;
      plan.registerVectors = tile.vectors;
      if (!tiles) plan.unroll = std::clamp<std::int64_t>(200 / (tile.rows * tile.taps * tile.vectors), 4, 16);
      const Blocks blocks{divUp(row.channels, tile.rows),
                          role == WeightVectors::kKernelWidth ? 1 : divUp(lane.channels, tile.vectors * m.isa.lanes())};
      plan.dotProducts = dots;
      plan.matrixUnit = tiles;
      for (const auto& [stageLanes, stageRows] :
           tiles ? std::vector<std::pair<bool, bool>>{{true, true}} : stagings(v, m, role, tile, dots)) {
        plan.packB = stageLanes ? PackVectors::kBlock : PackVectors::kNone;
        plan.packA = stageRows;
        plan.reduction.h = 0;
        if (!operandsTransposed && v.taps() > 1) addWholeReductions(v, m, view.pairs, plan, blocks, out);
        for (const double share : {0.1, 0.3, 0.6, 1.5, 4.0}) {
          if (share > 2 && v.taps() > 1) continue;  // later taps find nothing there
          const DirectWeightsPlan last = plan;
          setReduction(v, view.pairs, plan, share * static_cast<double>(m.buffers.l1Bytes));
          if (plan.reduction.h == last.reduction.h && plan.reduction.d == last.reduction.d &&
              plan.reduction.n == last.reduction.n)
            continue;
          const PartialSums sums = sumsOf(view.asked, plan);
          if (tiles && sums.chainsOfBlock() > 1) break;
          const std::int64_t least = sums.leastParts();
          addFirstUse(view, m, plan, blocks, out);
          for (const IterateOrder order : {IterateOrder::kPixelsOuter, IterateOrder::kChannelsOuter}) {
            plan.order = order;
            plan.rowParts = plan.vectorParts = plan.reductionParts = 1;
            if (least == 1) {
              plan.bufferC = true;
              privateParts(v, m, plan, blocks);
              out.push_back(plan);
              plan.bufferC = false;
            }
            // Either whole tiles are partitioned (each task sums all pixels), or pixel ranges are summed apart.
            for (const std::int64_t parts : std::array<std::int64_t, 3>{1, m.cores, 4L * m.cores}) {
              plan.rowParts = std::min(blocks.rows, parts);
              plan.reductionParts = least;
              plan.vectorParts = std::min(blocks.lanes, divUp(parts, plan.rowParts));
              out.push_back(plan);
              if (parts > 1 && plan.rowParts > 1 && blocks.lanes > 1) {
                plan.vectorParts = std::min(blocks.lanes, parts);
                plan.rowParts = std::min(blocks.rows, divUp(parts, plan.vectorParts));
                out.push_back(plan);
              }
              if (parts == 1 && m.cores > 1) {
                for (const std::int64_t more : {m.cores, 4 * m.cores}) {
                  if (more <= least) continue;
                  plan.reductionParts = more;
                  out.push_back(plan);
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<DirectWeightsPlan> directWeightsCandidates(const Problem& problem, const Machine& m) {
  std::vector<DirectWeightsPlan> out;
  for (const bool dots : dotChoices(problem, Pass::kDw, m))
    addCandidates(problem, m, dots ? Multiplier::kPairs : Multiplier::kVectors, out);
  const DType type = formatOf(problem, TensorId::kX).dtype;
  if (m.isa.matrixProduct(type) != nullptr && dotApplies(problem, Pass::kDw, type))
    addCandidates(problem, m, Multiplier::kMatrixUnit, out);
  return out;
}

}  // namespace cubejit
