// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves that fill a weight gradient's operand panels.
#include "algorithms/direct_weights/lower/weights_panels.h"

#include <algorithm>
#include <utility>

#include "algorithms/direct_weights/condensed_view.h"

namespace cubejit {
namespace {

// Positions of the tensor that a chunk reads along an axis.
std::int64_t extentOf(const ConvView& v, const StagedOperand& o, int axis, const Range& own) {
  if (!o.big) return own.length();
  return bigRange(own, v.kernel[axis], v.stride[axis], v.dilation[axis], v.pad[axis], v.big.extent[axis])
      .clipped.length();
}

// How `pixels` neighbouring ones become words of the panel; what a move does not say is its elements' default.
PanelMove panelMove(const ConvView& v, const StagedOperand& o, std::int64_t pixels) {
  const std::int64_t spacing = wordSpacing(v, o.pairs, o.big);
  PanelMove move{o.lanes, pixels, o.panel.w * spacing};
  if (o.pairs == PixelPairs::kNone) return move;
  move.elements = PanelElements::kPixelPairs;
  move.pairBytes = pairBytes(v, o.pairs, o.big);
  move.singles =
      o.pairs == PixelPairs::kImages ? 0 : pairColumns(v, o.big);  // behind the last columns the tensor may end
  move.wordSpacing = spacing;
  return move;
}

}  // namespace

Node stagedLoad(ProgramBuilder& b, const ConvView& view, const ChunkList& chunks, const StagedOperand& o, LoadAxes axes,
                int source, int sink) {
  const TensorView& t = o.big ? view.big : view.small;
  const auto chunkOf = [&](int cls) -> const PixelChunk& {
    return chunks.chunks[static_cast<std::size_t>(chunks.representative[static_cast<std::size_t>(cls)])];
  };
  const auto steps = [&](const char* big, const char* small, std::int64_t count, std::int64_t from, std::int64_t to) {
    const int axis = b.addAxis(o.big ? big : small, static_cast<int>(count));
    for (std::int64_t i = 0; i < count; ++i) b.addStep(axis, {{source, i * from}, {sink, i * to}}, static_cast<int>(i));
    return axis;
  };
  // Rows that follow each other are one matrix; others are moved one by one.
  const bool together = view.line || denseRows(t);
  std::int64_t mostRows = 1;
  for (int cls = 0; cls < chunks.classes && !together; ++cls)
    mostRows = std::max(mostRows, extentOf(view, o, 1, chunkOf(cls).h));
  const int image = steps("n_big", "n_small", o.images, t.nStride, o.panel.n);
  const int plane = steps("d_big", "d_small", o.planes, t.dStride, o.panel.d);
  const int row = steps("h_big", "h_small", mostRows, t.hStride, o.panel.h);
  const PanelElements elements = panelMove(view, o, 1).elements;
  const std::vector<ChannelPiece> longest = channelPieces(t, o.part.mostLoaded(), elements);
  const int piece = b.addAxis(o.big ? "piece_big" : "piece_small", static_cast<int>(longest.size()));
  for (std::size_t i = 0; i < longest.size(); ++i)
    b.addStep(piece, {{source, longest[i].tensorOffset}, {sink, longest[i].panelOffset}}, static_cast<int>(i));
  Call call{o.big ? "load_big" : "load_small", source, -1, sink, {axes.chunk, image, plane, row, axes.part, piece}, {}};
  for (int cls = 0; cls < chunks.classes; ++cls) {
    const PixelChunk& c = chunkOf(cls);
    const std::int64_t columns = view.line ? extentOf(view, o, 2, c.w) : o.big ? t.extent.w : c.w.length();
    const std::int64_t rows = extentOf(view, o, 1, c.h), depths = extentOf(view, o, 0, c.d);
    const std::int64_t pixels = together ? rows * columns : columns;
    const std::int64_t images = depths > 0 && rows > 0 && pixels > 0 ? c.n.length() : 0;
    std::vector<int> kernels;  // by part, then piece
    for (std::int64_t k = 0; k < o.part.parts && images > 0; ++k) {
      const std::vector<ChannelPiece> pieces = channelPieces(t, o.part.loadCount(k), elements);
      for (const ChannelPiece& of : pieces) kernels.push_back(b.addKernel(loadMove(t, of, panelMove(view, o, pixels))));
      kernels.resize(kernels.size() + longest.size() - pieces.size(), -1);
    }
    for (std::int64_t i = 0; i < o.images; ++i) {
      for (std::int64_t j = 0; j < o.planes; ++j) {
        for (std::int64_t h = 0; h < mostRows; ++h) {
          const bool exists = i < images && j < depths && h < rows;
          for (std::int64_t k = 0; k < o.part.parts * static_cast<std::int64_t>(longest.size()); ++k) {
            Variant variant;
            if (exists) variant.kernel = kernels[static_cast<std::size_t>(k)];
            call.variants.push_back(variant);
          }
        }
      }
    }
  }
  return loopNode(image, {loopNode(plane, {loopNode(piece, {loopNode(row, {callNode(std::move(call))})})})});
}

}  // namespace cubejit
