// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides panels, moves and zeros. All rows of a plane are one run of pixels (flat_rows.h): moves write the zeros behind a row of the big tensor
// with the row, and those before the first row, of rows outside and behind the last one are filled.
#include "algorithms/direct_weights/lower/weight_tiles.h"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/lower/tile_blocks.h"
#include "algorithms/kit/panel_pitch.h"

namespace cubejit {
namespace {

constexpr std::int64_t kColumnBytes = 2;

std::vector<std::int64_t> residues(const ConvView& v, int axis) {
  std::vector<std::int64_t> out;
  for (std::int64_t k = 0; k < v.kernel[axis]; ++k) out.push_back(placeOfTap(v, axis, k).residue);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::int64_t rankOf(const std::vector<std::int64_t>& residues, std::int64_t residue) {
  return std::find(residues.begin(), residues.end(), residue) - residues.begin();
}

std::int64_t wholeTiles(std::int64_t channels) { return roundUp(channels, kTileColumns); }

// Behind a part's channels, up to whole tiles.
std::int64_t zeroChannels(const ChannelPart& c, std::int64_t part) { return wholeTiles(c.count(part)) - c.count(part); }

}  // namespace

// The positions on an axis that a block reads of the big tensor and that have a given residue, without those in the padding: how many there are,
// where the first one lies in the tensor (counted from the first position that the block reads) and in the panel.
struct WeightTiles::Positions {
  std::int64_t count = 0, inTensor = 0, inPanel = 0;
};

WeightTiles::Positions WeightTiles::positions(const PixelBlock& block, int axis, std::int64_t residue) const {
  const BigPositions at = bigPositions(v_, axis, block);
  const std::int64_t stride = v_.stride[axis], lo = at.inside.lo - at.start.base, hi = at.inside.hi - at.start.base,
                     ahead = placeOfTap(v_, axis, 0).residue - residue,
                     read = block.of(axis).length() + reachOfTaps(v_, axis).length();
  Positions p;
  p.inPanel = std::max<std::int64_t>(0, ceilDiv(lo + ahead, stride));
  p.inTensor = p.inPanel * stride - ahead - lo;
  const std::int64_t left = hi - lo - p.inTensor;
  p.count = left > 0 ? std::max<std::int64_t>(0, std::min(ceilDiv(left, stride), read - p.inPanel)) : 0;
  return p;
}

WeightTiles::WeightTiles(const ConvView& view, const PixelBlocks& blocks, const ChannelPart& big,
                         const ChannelPart& small, int lanes)
    : v_(view),
      blocks_(blocks),
      big_(big),
      small_(small),
      lanes_(lanes),
      row_(flatRowPitch(view)),
      alongH_(reachOfTaps(view, 1)),
      alongW_(reachOfTaps(view, 2)),
      ofH_(residues(view, 1)),
      ofW_(residues(view, 2)) {
  std::int64_t columns = 0, pairs = 0, bigPlanes = 0, smallPlanes = 0;
  for (int cls = 0; cls < blocks.classes; ++cls) {
    const PixelBlock& block = blocks.ofClass(cls);
    const PairProducts products = this->products(block);
    columns = std::max(columns, bigColumns(block));
    pairs = std::max(pairs, products.count * products.each);
    smallPlanes = std::max(smallPlanes, block.d.length());
    bigPlanes = std::max(bigPlanes, (block.d.length() - 1) * v_.stride.d + (v_.kernel.d - 1) * v_.dilation.d + 1);
  }
  bigPitch_.c.each = panelPitch(columns * kColumnBytes);
  bigPitch_.d = residueBytes() * std::ssize(ofH_) * std::ssize(ofW_);
  bigPitch_.n = bigPitch_.d * bigPlanes;
  smallPitch_.c.each = 4;
  std::int64_t loaded = 0;
  for (std::int64_t i = 0; i < small.parts; ++i) loaded = std::max(loaded, small.loadCount(i) + zeroChannels(small, i));
  smallPitch_.w = panelPitch(loaded * 4);
  smallPitch_.d = smallPitch_.w * pairs;
  smallPitch_.n = smallPitch_.d * smallPlanes;
}

PairProducts WeightTiles::products(const PixelBlock& block) const {
  return flatProducts(v_, block.h.length(), block.w.length());
}

// Columns of a channel that the block's products read of the big tensor, or moves write behind its last row.
std::int64_t WeightTiles::bigColumns(const PixelBlock& block) const {
  const PairProducts p = products(block);
  const std::int64_t rows = block.h.length() + alongH_.length(),
                     written = v_.cutsRows() ? block.w.length() + alongW_.length()
                                             : rows * row_ + std::max<std::int64_t>(0, -alongW_.first);
  return std::max(2 * p.count * p.each + alongH_.length() * row_ + alongW_.length(), written);
}

std::int64_t WeightTiles::residueBytes() const { return bigPitch_.c.each * big_.mostLoaded(); }

void WeightTiles::pack(ProgramBuilder& b, Operand& big, Operand& small) const {
  std::int64_t images = 1;
  for (const PixelBlock& block : blocks_.blocks) images = std::max(images, block.n.length());
  Pitches of;  // blocks have the panels to themselves
  of.c = bigPitch_.c;
  big.pack(b, "panel_big", of, bigPitch_.n * images);
  of.c = smallPitch_.c;
  small.pack(b, "panel_small", of, smallPitch_.n * images);
}

std::vector<Node> WeightTiles::load(ProgramBuilder& b, const Operand& big, const Operand& small, int blockAxis,
                                    int bigPartition, int smallPartition) const {
  std::vector<Node> nodes = loadBig(b, big, blockAxis, bigPartition);
  for (Node& node : loadSmall(b, small, blockAxis, smallPartition)) nodes.push_back(std::move(node));
  return nodes;
}

std::vector<Node> WeightTiles::loadBig(ProgramBuilder& b, const Operand& o, int blockAxis, int partition) const {
  const TensorView& t = *o.view;
  const int residueAxis = b.addAxis("residue", static_cast<int>(std::ssize(ofH_) * std::ssize(ofW_)));
  for (std::int64_t i = 0; i < std::ssize(ofH_) * std::ssize(ofW_); ++i)
    b.addStep(residueAxis, {{o.panel, i * residueBytes()}}, static_cast<int>(i));
  const std::vector<ChannelPiece> longest = channelPieces(t, big_.mostLoaded(), PanelElements::kHalves);
  std::vector<ChannelPiece> planes = longest;
  for (ChannelPiece& each : planes) each.panelOffset = each.panelOffset / kColumnBytes * bigPitch_.c.each;
  const int piece = addPieceAxis(b, "piece_big", planes, o.tensor, o.panel);
  Call move{"load_big", o.tensor, -1, o.panel, {blockAxis, residueAxis, partition, piece}, {}};
  Call before{"zero_before", o.panel, -1, o.panel, {blockAxis, residueAxis, partition}, {}}, behind = before;
  behind.name = "zero_behind";
  for (int cls = 0; cls < blocks_.classes; ++cls) {
    const PixelBlock& block = blocks_.ofClass(cls);
    const BigPositions planes = bigPositions(v_, 0, block);
    const std::int64_t all = bigColumns(block);
    for (const std::int64_t rh : ofH_) {
      for (const std::int64_t rw : ofW_) {
        const Positions rows = positions(block, 1, rh), columns = positions(block, 2, rw);
        const bool any = rows.count > 0 && columns.count > 0;
        const std::int64_t begin = rows.inPanel * row_ + columns.inPanel,
                           pad = v_.cutsRows() ? 0 : row_ - columns.count,
                           end = begin + (rows.count - 1) * row_ + columns.count + pad;
        SegmentList read(1), zeroBefore(1), zeroBehind(1);
        for (std::int64_t n = 0; n < block.n.length(); ++n) {
          for (std::int64_t d = planes.inside.lo; d < planes.inside.hi; ++d) {
            const std::int64_t at = n * bigPitch_.n + (d - planes.start.base) * bigPitch_.d;
            read.front().push_back({n * t.nStride + (d - planes.inside.lo) * t.dStride + rows.inTensor * t.hStride +
                                        columns.inTensor * t.wStride,
                                    at + begin * kColumnBytes, rows.count});
            zeroBefore.front().push_back({0, at, 1});
            zeroBehind.front().push_back({0, at + end * kColumnBytes, 1});
          }
        }
        const int reads = any ? b.addList(std::move(read)) : -1, fillsBefore = b.addList(std::move(zeroBefore)),
                  fillsBehind = b.addList(std::move(zeroBehind));
        for (std::int64_t part = 0; part < big_.parts; ++part) {
          const auto zeros = [&](Call& call, std::int64_t count, int list) {
            Variant variant;
            if (count > 0) {
              variant.kernel = b.addKernel(Fill{.lanes = lanes_,
                                                .rows = big_.loadCount(part),
                                                .cols = count,
                                                .dstPitch = bigPitch_.c.each,
                                                .element = Element::kHalf,
                                                .list = ListSteps{},
                                                .label = call.name});
              variant.list = list;
            }
            call.variants.push_back(variant);
          };
          zeros(before, any ? begin : all, fillsBefore);
          zeros(behind, any ? all - end : 0, fillsBehind);
          const std::vector<ChannelPiece> pieces = channelPieces(t, big_.loadCount(part), PanelElements::kHalves);
          for (std::size_t i = 0; i < longest.size(); ++i) {
            Variant variant;
            if (any && i < pieces.size()) {
              const Copy row{.lanes = lanes_,
                             .rows = t.plain() ? pieces[i].channels : columns.count,
                             .cols = t.plain() ? columns.count : pieces[i].channels,
                             .srcPitch = t.plain() ? t.cStride : v_.stride.w * t.wStride,
                             .dstPitch = bigPitch_.c.each,
                             .padCols = pad,
                             .from = Element::kHalf,
                             .to = Element::kHalf,
                             .list = ListSteps{v_.stride.h * t.hStride, row_ * kColumnBytes},
                             .label = "load_big"};
              variant.kernel = b.addKernel(t.plain() ? Kernel(row) : Kernel(turned(row)));
              variant.list = reads;
            }
            move.variants.push_back(variant);
          }
        }
      }
    }
  }
  std::vector<Node> body{callNode(std::move(before)), callNode(std::move(behind)),
                         loopNode(piece, {callNode(std::move(move))})};
  return {loopNode(residueAxis, std::move(body))};
}

std::vector<Node> WeightTiles::loadSmall(ProgramBuilder& b, const Operand& o, int blockAxis, int partition) const {
  const TensorView& t = *o.view;
  const std::vector<ChannelPiece> longest = channelPieces(t, small_.mostLoaded(), PanelElements::kWide);
  const int piece = addPieceAxis(b, "piece_small", longest, o.tensor, o.panel);
  Call move{"load_small", o.tensor, -1, o.panel, {blockAxis, partition, piece}, {}}, last = move;
  last.name = "load_last";
  Call between{"zero_between", o.panel, -1, o.panel, {blockAxis}, {}}, behind = between;
  behind.name = "zero_behind";
  for (int cls = 0; cls < blocks_.classes; ++cls) {
    const PixelBlock& block = blocks_.ofClass(cls);
    const std::int64_t rows = block.h.length(), columns = block.w.length(), words = ceilDiv(columns, 2);
    const PairProducts p = products(block);
    SegmentList read(1), alone(1), gaps(1), rest(1);
    const std::int64_t end = (rows - 1) * row_ / 2 + words;
    for (std::int64_t n = 0; n < block.n.length(); ++n) {
      for (std::int64_t d = 0; d < block.d.length(); ++d) {
        const std::int64_t from = n * t.nStride + d * t.dStride, at = n * smallPitch_.n + d * smallPitch_.d;
        read.front().push_back({from, at, rows});
        alone.front().push_back({from + (columns - 1) * t.wStride, at + (words - 1) * smallPitch_.w, rows});
        gaps.front().push_back({0, at + words * smallPitch_.w, rows - 1});
        rest.front().push_back({0, at + end * smallPitch_.w, 1});
      }
    }
    const int reads = b.addList(std::move(read)), ends = b.addList(std::move(alone));
    const ListSteps rowByRow{t.hStride, row_ / 2 * smallPitch_.w};
    const auto zeros = [&](Call& call, std::int64_t count, SegmentList list) {
      Variant variant;
      if (count > 0 && list.front().front().outer > 0) {
        variant.kernel = b.addKernel(zeroRuns(lanes_, count * smallPitch_.w, rowByRow.c, call.name));
        variant.list = b.addList(std::move(list));
      }
      call.variants.push_back(variant);
    };
    zeros(between, row_ / 2 - words, std::move(gaps));
    zeros(behind, p.count * p.each - end, std::move(rest));
    for (std::int64_t part = 0; part < small_.parts; ++part) {
      const std::vector<ChannelPiece> pieces = channelPieces(t, small_.loadCount(part), PanelElements::kWide);
      for (std::size_t i = 0; i < longest.size(); ++i) {
        Variant whole, half;
        if (i < pieces.size()) {
          Copy row{.lanes = lanes_,
                   .rows = words,
                   .cols = pieces[i].channels,
                   .srcPitch = 2 * t.wStride,
                   .dstPitch = smallPitch_.w,
                   .padCols = i + 1 == pieces.size() ? zeroChannels(small_, part) : 0,
                   .from = Element::kPair,
                   .pairPitch = t.wStride,
                   .pairsCut = columns % 2,
                   .list = rowByRow,
                   .label = "load_small"};
          whole.list = reads;
          if (t.plain()) {  // two neighbours are a word; of an odd number the last one has a zero
            row.rows = pieces[i].channels;
            row.cols = 1;
            row.srcPitch = t.cStride;
            row.pairPitch = row.pairsCut = 0;
            half.list = ends;
            if (columns % 2 != 0) half.kernel = b.addKernel(turned(row));
            row.cols = columns / 2;
            row.from = Element::kF32;
            if (columns > 1) whole.kernel = b.addKernel(turned(row));
          } else {
            whole.kernel = b.addKernel(row);
          }
        }
        move.variants.push_back(whole);
        last.variants.push_back(half);
      }
    }
  }
  std::vector<Node> body{callNode(std::move(move))};
  if (t.plain()) body.push_back(callNode(std::move(last)));
  return {callNode(std::move(between)), callNode(std::move(behind)), loopNode(piece, std::move(body))};
}

TileProduct WeightTiles::product(int cls, std::int64_t rows, std::int64_t columns, std::int64_t pitch) const {
  return productOf({rows, wholeTiles(columns), products(blocks_.ofClass(cls)).each, v_.big.dtype, bigPitch_.c.each,
                    smallPitch_.w, pitch, "dw_tiles_" + std::to_string(rows) + "x" + std::to_string(columns)});
}

SegmentList WeightTiles::segments(int cls, const Dhw& tap) const {
  const PixelBlock& block = blocks_.ofClass(cls);
  const Range depths = usedPixels(v_, 0, block, tap.d);
  SegmentList list(1);
  if (usedPixels(v_, 1, block, tap.h).length() == 0 || usedPixels(v_, 2, block, tap.w).length() == 0) return list;
  const TapPlace h = placeOfTap(v_, 1, tap.h), w = placeOfTap(v_, 2, tap.w);
  const std::int64_t residue = rankOf(ofH_, h.residue) * std::ssize(ofW_) + rankOf(ofW_, w.residue),
                     column = (h.shift - alongH_.first) * row_ + w.shift - alongW_.first, count = products(block).count;
  for (std::int64_t n = 0; n < block.n.length(); ++n) {
    for (std::int64_t d = depths.lo; d < depths.hi; ++d) {
      const std::int64_t plane = d * v_.stride.d + tap.d * v_.dilation.d;
      list.front().push_back({n * bigPitch_.n + plane * bigPitch_.d + residue * residueBytes() + column * kColumnBytes,
                              n * smallPitch_.n + d * smallPitch_.d, count});
    }
  }
  return list;
}

}  // namespace cubejit
