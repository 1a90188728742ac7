// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "algorithms/direct_data/lower/tile_block.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/lower/tile_blocks.h"

namespace cubejit {

namespace {

// How many of the rows that a cache block reads lie above dy's first row and below its last one; their panel rows are zeros.
struct ZeroRows {
  std::int64_t above = 0, below = 0;
  friend bool operator==(const ZeroRows& x, const ZeroRows& y) = default;
};
ZeroRows zeroRows(const Range& operands, const ZeroEnds& zeros, std::int64_t positions) {
  const std::int64_t last = zeros.before + positions;  // the first behind those of the tensor
  return {std::clamp<std::int64_t>(zeros.before - operands.lo, 0, operands.length()),
          std::clamp<std::int64_t>(operands.hi - last, 0, operands.length())};
}

}  // namespace

TileLayout layOutTiles(const DirectDataPlan& plan, DataGradient& g, std::array<AxisRelation, 3>& relation) {
  TileLayout t;
  t.taps = tapsOfProduct(g.view);
  t.pairs = pairsOfTaps(g.view);
  t.sum = PairProducts(t.pairs);
  t.severalRows = plan.registerH > 1;
  t.columns = padWithZeros(relation[2]);
  t.columns.behind += columnsOfLastPair(g.view);
  if (t.severalRows) t.rows = padWithZeros(relation[1]);
  if (t.taps == 1) return t;
  relation[2].kernel = g.view.kernel.w = 1;
  g.taps /= t.taps;
  return t;
}

void tellZerosApart(BlockedAxis& axis, const ZeroEnds& zeros, std::int64_t positions) {
  std::vector<std::pair<int, ZeroRows>> known;
  std::vector<std::vector<int>> blockClass;
  std::vector<std::size_t> ofClass;
  for (std::size_t i = 0; i < axis.cacheBlocks.size(); ++i) {
    AxisCacheBlock& block = axis.cacheBlocks[i];
    const std::pair<int, ZeroRows> key{block.cls, zeroRows(block.operands, zeros, positions)};
    const auto found = std::find(known.begin(), known.end(), key);
    block.cls = static_cast<int>(found - known.begin());
    if (found != known.end()) continue;
    blockClass.push_back(axis.blockClass[static_cast<std::size_t>(key.first)]);
    ofClass.push_back(i);
    known.push_back(key);
  }
  if (known.empty()) return;
  axis.cacheClasses = static_cast<int>(known.size());
  axis.blockClass = std::move(blockClass);
  axis.ofClass = std::move(ofClass);
}

void placeStreams(ProgramBuilder& b, const TilePanel& p) {
  const auto offset = [&](int stream) -> std::int64_t& {
    return b.phase().streams[static_cast<std::size_t>(stream)].offset;
  };
  offset(p.operand.stream) = p.begin();
  offset(p.operand.panel) = p.begin() + p.tiles.columns.before * p.operand.pitch.w;
  offset(p.operand.tensor) = -p.tiles.rows.before * p.operand.view->hStride;
}

std::vector<Node> loadTiles(ProgramBuilder& b, const TilePanel& p) {
  const Operand& o = p.operand;
  const TensorView& t = *o.view;
  const PanelElements elements = p.tiles.taps > 1 ? PanelElements::kHalves : PanelElements::kChannelPairs;
  const std::vector<ChannelPiece> pieces = channelPieces(t, t.channels, elements);
  const int piece = addPieceAxis(b, "piece_in", pieces, o.tensor, o.panel);
  std::vector<int> moves;
  for (const ChannelPiece& each : pieces) {
    const bool last = &each == &pieces.back();
    Kernel move = loadMove(t, each, PanelMove{p.lanes, t.extent.w, o.pitch.w, elements});
    std::visit(overloaded{[&](OneOf<Copy, Transpose> auto& m) {
                            m.list = ListSteps{t.hStride, o.pitch.h};
                            if (last) m.padCols += p.tiles.sum.zeros * 4 / elementBytes(m.to);
                          },
                          [](auto&) {}},
               move);
    moves.push_back(b.addKernel(std::move(move)));
  }
  const auto zeros = [&](const char* label, std::int64_t columns) {
    return b.addKernel(zeroRuns(p.lanes, columns * o.pitch.w, o.pitch.h, label));
  };
  Call load{"load_panel", o.tensor, -1, o.panel, {p.cacheAxis[0], p.cacheAxis[1], piece}, {}};
  Call between{"zero_columns", o.panel, -1, o.panel, {p.cacheAxis[0], p.cacheAxis[1]}, {}}, outside = between;
  outside.name = "zero_rows";
  for (int d = 0; d < p.axes[0].cacheClasses; ++d) {
    for (int h = 0; h < p.axes[1].cacheClasses; ++h) {
      const std::int64_t planes = p.axes[0].operandsOf(d), rows = p.axes[1].operandsOf(h);
      const ZeroRows zero =
          rows > 0 ? zeroRows(p.axes[1].cacheBlocks[p.axes[1].ofClass[static_cast<std::size_t>(h)]].operands,
                              p.tiles.rows, t.extent.h)
                   : ZeroRows{};
      const std::int64_t inside = rows - zero.above - zero.below;
      SegmentList read(1), gaps(1), none(1);
      for (std::int64_t plane = 0; plane < planes && rows > 0; ++plane) {
        const std::int64_t at = plane * o.pitch.d;
        if (inside > 0)
          read.front().push_back({plane * t.dStride + zero.above * t.hStride, at + zero.above * o.pitch.h, inside});
        gaps.front().push_back({0, at - p.tiles.columns.all() * o.pitch.w, rows + 1});
        if (zero.above > 0) none.front().push_back({0, at, zero.above});
        if (zero.below > 0) none.front().push_back({0, at + (rows - zero.below) * o.pitch.h, zero.below});
      }
      const auto variant = [&](int kernel, const SegmentList& list) {
        return list.front().empty() ? Variant{} : Variant{kernel, b.addList(list), false};
      };
      for (const int move : moves) load.variants.push_back(variant(move, read));
      between.variants.push_back(p.tiles.columns.all() > 0 ? variant(zeros("zero_columns", p.tiles.columns.all()), gaps)
                                                           : Variant{});
      outside.variants.push_back(variant(none.front().empty() ? -1 : zeros("zero_rows", t.extent.w), none));
    }
  }
  std::vector<Node> nodes;
  if (p.tiles.columns.all() > 0) nodes.push_back(callNode(std::move(between)));
  if (p.tiles.rows.all() > 0) nodes.push_back(callNode(std::move(outside)));
  nodes.push_back(loopNode(piece, {callNode(std::move(load))}));
  return nodes;
}

}  // namespace cubejit
