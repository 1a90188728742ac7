// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves that fill a weight gradient's operand panels.
#include "algorithms/kit/lower/pixel_panels.h"

#include <algorithm>
#include <utility>

namespace cubejit {
namespace {

// Positions of the tensor that a block reads along an axis.
std::int64_t positionsOf(const ConvView& v, bool big, int axis, const PixelBlock& block) {
  return big ? bigPositions(v, axis, block).inside.length() : block.of(axis).length();
}

}  // namespace

PanelExtent panelExtent(const ConvView& v, const PixelBlocks& blocks, bool big) {
  PanelExtent most{1, {1, 1, 1}};
  for (const PixelBlock& block : blocks.blocks) {
    most.images = std::max(most.images, block.n.length());
    for (int axis = 0; axis < 3; ++axis) most.positions[axis] = std::max(most.positions[axis], block.of(axis).length());
  }
  if (!big) return most;
  for (int axis = 0; axis < 3; ++axis) {
    most.positions[axis] = (most.positions[axis] - 1) * v.stride[axis] + (v.kernel[axis] - 1) * v.dilation[axis] + 1;
  }
  if (!v.cutsRows()) most.positions.w = v.big.extent.w;
  return most;
}

Pitches panelPitches(const PanelExtent& extent, std::int64_t pixelBytes, std::int64_t spacing) {
  Pitches p;
  p.c.each = 4;
  p.w = pixelBytes;
  p.h = p.w * ((extent.positions.w + spacing - 1) / spacing * spacing);
  p.d = p.h * extent.positions.h;
  p.n = p.d * extent.positions.d;
  return p;
}

Node packPixels(ProgramBuilder& b, const ConvView& view, const PixelBlocks& blocks, const PackedPixels& p,
                int blockAxis, int partAxis) {
  const Operand& o = p.operand;
  const TensorView& t = *o.view;
  const Dhw& most = p.extent.positions;
  const auto steps = [&](const char* big, const char* small, std::int64_t count, std::int64_t from, std::int64_t to) {
    const int axis = b.addAxis(p.big ? big : small, static_cast<int>(count));
    for (std::int64_t i = 0; i < count; ++i)
      b.addStep(axis, {{o.tensor, i * from}, {o.panel, i * to}}, static_cast<int>(i));
    return axis;
  };
  // Rows that follow each other are one matrix; others are moved one by one.
  const bool together = view.oneAxis || (!view.cutsRows() && t.denseRows());
  std::int64_t mostRows = 1;
  for (int cls = 0; cls < blocks.classes && !together; ++cls)
    mostRows = std::max(mostRows, positionsOf(view, p.big, 1, blocks.ofClass(cls)));
  const int image = steps("n_big", "n_small", p.extent.images, t.nStride, o.pitch.n);
  const int plane = steps("d_big", "d_small", most.d, t.dStride, o.pitch.d);
  const int row = steps("h_big", "h_small", mostRows, t.hStride, o.pitch.h);
  const std::vector<ChannelPiece> longest = channelPieces(t, p.part.mostLoaded(), p.move.elements);
  const int piece = addPieceAxis(b, p.big ? "piece_big" : "piece_small", longest, o.tensor, o.panel);
  Call call{
      p.big ? "load_big" : "load_small", o.tensor, -1, o.panel, {blockAxis, image, plane, row, partAxis, piece}, {}};
  for (int cls = 0; cls < blocks.classes; ++cls) {
    const PixelBlock& block = blocks.ofClass(cls);
    const std::int64_t columns = p.big && !view.cutsRows() ? t.extent.w : positionsOf(view, p.big, 2, block);
    const std::int64_t rows = positionsOf(view, p.big, 1, block), depths = positionsOf(view, p.big, 0, block);
    PanelMove move = p.move;
    move.pixels = together ? rows * columns : columns;
    const std::int64_t images = depths > 0 && rows > 0 && move.pixels > 0 ? block.n.length() : 0;
    std::vector<int> kernels;  // by part, then piece
    for (std::int64_t k = 0; k < p.part.parts && images > 0; ++k) {
      const std::vector<ChannelPiece> pieces = channelPieces(t, p.part.loadCount(k), move.elements);
      for (const ChannelPiece& of : pieces) kernels.push_back(b.addKernel(loadMove(t, of, move)));
      kernels.resize(kernels.size() + longest.size() - pieces.size(), -1);
    }
    for (std::int64_t i = 0; i < p.extent.images; ++i) {
      for (std::int64_t j = 0; j < most.d; ++j) {
        for (std::int64_t h = 0; h < mostRows; ++h) {
          const bool exists = i < images && j < depths && h < rows;
          for (std::int64_t k = 0; k < p.part.parts * static_cast<std::int64_t>(longest.size()); ++k) {
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
