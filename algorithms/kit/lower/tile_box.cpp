// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides steps and classes of the axes over tiles.
#include "algorithms/kit/lower/tile_box.h"

namespace cubejit {

TileStream tensorStream(int stream, const TensorView& tensor, const TileBox& box, TileSide side) {
  TileStream out;
  out.stream = stream;
  out.image = tensor.nStride;
  for (int a = 0; a < 3; ++a) {
    const TileAxis& axis = box.axes[static_cast<std::size_t>(a)];
    const Elements& elements = axis.*side;
    out.tile[static_cast<std::size_t>(a)] = axis.m * elements.step * tensor.strideOf(a);
    out.origin += elements.first * tensor.strideOf(a);
  }
  return out;
}

int addRowAxis(ProgramBuilder& b, const TileBox& box, const std::vector<TileStream>& tensors,
               const std::vector<std::pair<int, std::int64_t>>& panels) {
  const int axis = b.addAxis("tile_row", box.rowClasses());
  std::int64_t row = 0;
  for (std::int64_t n = 0; n < box.batch; ++n) {
    for (std::int64_t d = 0; d < box.axes[0].tiles(); ++d) {
      for (std::int64_t h = 0; h < box.axes[1].tiles(); ++h, ++row) {
        std::vector<std::pair<int, std::int64_t>> deltas;
        for (const TileStream& t : tensors)
          deltas.emplace_back(t.stream, t.origin + n * t.image + d * t.tile[0] + h * t.tile[1]);
        for (const auto& [stream, bytes] : panels) deltas.emplace_back(stream, row * box.tilesOfRow() * bytes);
        const int ofD = box.axes[0].classOf[static_cast<std::size_t>(d)],
                  ofH = box.axes[1].classOf[static_cast<std::size_t>(h)];
        b.addStep(axis, deltas, ofD * static_cast<int>(box.axes[1].classes.size()) + ofH);
      }
    }
  }
  return axis;
}

int addTileAxis(ProgramBuilder& b, const TileBox& box, const std::vector<TileStream>& tensors,
                const std::vector<std::pair<int, std::int64_t>>& panels) {
  const int axis = b.addAxis("tile", static_cast<int>(box.axes[2].classes.size()));
  for (std::int64_t w = 0; w < box.tilesOfRow(); ++w) {
    std::vector<std::pair<int, std::int64_t>> deltas;
    for (const TileStream& t : tensors) deltas.emplace_back(t.stream, w * t.tile[2]);
    for (const auto& [stream, bytes] : panels) deltas.emplace_back(stream, w * bytes);
    b.addStep(axis, deltas, box.axes[2].classOf[static_cast<std::size_t>(w)]);
  }
  return axis;
}

std::vector<PassAxis> boxPasses(const TileBox& box, bool fromW, const std::function<PassAxis(std::size_t axis)>& pass) {
  std::vector<PassAxis> passes;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t axis = fromW ? 2 - i : i;
    if (box.transformed(axis)) passes.push_back(pass(axis));
  }
  return passes;
}

std::vector<Range> tileRanges(const TileBox& box, std::size_t axis, Range TileClass::* existing) {
  const std::vector<TileClass>& classes = box.axes[axis].classes;
  std::vector<Range> ranges;
  if (axis == 2) {
    for (const TileClass& c : classes) ranges.push_back(c.*existing);
    return ranges;
  }
  for (std::size_t d = 0; d < box.axes[0].classes.size(); ++d) {
    for (std::size_t h = 0; h < box.axes[1].classes.size(); ++h) ranges.push_back(classes[axis == 0 ? d : h].*existing);
  }
  return ranges;
}

std::int64_t elementStride(const TensorView& tensor, const TileBox& box, TileSide side, std::size_t axis) {
  return (box.axes[axis].*side).step * tensor.strideOf(static_cast<int>(axis));
}

}  // namespace cubejit
