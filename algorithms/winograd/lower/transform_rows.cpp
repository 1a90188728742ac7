// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides passes, lines and what lies between them.
#include "algorithms/winograd/lower/transform_rows.h"

#include <algorithm>
#include <utility>

namespace cubejit {
namespace {

// What lies between the parts of a row's transform: the most, a share of L2 beside panels and products; and what as many vectors are taken for.
constexpr std::int64_t kMostRowBytes = 384 << 10, kUsualRowBytes = 48 << 10;

class RowTransform {
 public:
  RowTransform(PassRoom& room, const std::string& name, const RowOfTiles& row, const PassChannels& channels,
               std::int64_t registers)
      : room_(room), b_(room.builder()), name_(name), row_(row), channels_(channels) {
    const TileAxis& w = row_.box.axes[2];
    const bool patches = row_.tensor.side() == &TileAxis::patched;
    existing_ = patches ? &TileClass::patch : &TileClass::tile;
    const Range inTensor = (w.*row_.tensor.side()).existing();
    columns_ = Range{std::max<std::int64_t>(0, inTensor.lo),
                     std::min(inTensor.hi, w.tiles() * w.m + (patches ? w.points - w.m : 0))};
    const std::vector<PassAxis> all = boxPasses(row_.box, true, [&](std::size_t a) { return axisOf(a, 0, 0, -1); });
    channels_.vectorsAtOnce = passVectors(all, registers, channels_.vectorsAtOnce);
    if (!row_.box.transformed(2) || all.size() < 2 || columns_.length() == 0) return;
    const std::int64_t ofVector = row_.box.axes[0].points * row_.box.axes[1].points * columns_.hi * channels_.lanes * 4;
    byRow_ = ofVector <= kMostRowBytes;
    if (byRow_)
      channels_.vectorsAtOnce = std::min(channels_.vectorsAtOnce, std::max<std::int64_t>(1, kUsualRowBytes / ofVector));
  }

  std::vector<Node> run() { return byRow_ ? ofRow() : tileByTile(); }

 private:
  int in() const { return row_.toPoints ? row_.tensor.stream() : row_.panel.stream; }
  int out() const { return row_.toPoints ? row_.panel.stream : row_.tensor.stream(); }

  // `tensorSide`, `pointSide`: bytes between the axis' elements and points where the pass reads or writes them.
  PassAxis axisOf(std::size_t axis, std::int64_t tensorSide, std::int64_t pointSide, int classAxis) const {
    PassAxis pass{.matrix = row_.matrix(axis),
                  .inStride = row_.toPoints ? tensorSide : pointSide,
                  .outStride = row_.toPoints ? pointSide : tensorSide,
                  .classAxis = classAxis,
                  .inputs = tileRanges(row_.box, axis, existing_)};
    pass.outputs.assign(pass.inputs.size(), row_.points(axis));
    if (!row_.toPoints) std::swap(pass.inputs, pass.outputs);
    return pass;
  }
  std::int64_t pointStride(std::size_t axis) const { return row_.box.pointStep(axis) * row_.panel.point; }

  std::vector<Node> tileByTile() {
    const int tiles = addTileAxis(b_, row_.box, row_.tensor.walk(row_.box), {{row_.panel.stream, row_.panel.tile}});
    const std::vector<PassAxis> axes = boxPasses(row_.box, row_.toPoints, [&](std::size_t a) {
      return axisOf(a, row_.tensor.stride(row_.box, a), pointStride(a), a == 2 ? tiles : row_.rows);
    });
    std::vector<Node> nodes;
    nodes.push_back(loopNode(tiles, linearPasses(room_, name_, axes, channels_, in(), out())));
    return nodes;
  }

  // Between the parts: [point of D][point of H][column].
  std::int64_t columnPitch() const { return channels_.vectorsAtOnce * channels_.lanes * 4; }
  std::int64_t pitch(std::size_t axis) const {
    const std::int64_t row = columns_.hi * columnPitch();
    return axis == 1 ? row : row_.box.axes[1].points * row;
  }

  std::vector<Node> ofRow() {
    const int between = room_.rows(row_.box.axes[0].points * pitch(0));
    LinearTransform transform(room_, name_, channels_, in(), out());
    // Along W, a tile at a time, the points of the other axes beside each other.
    TileStream column;
    column.stream = between;
    column.tile[2] = row_.box.axes[2].m * columnPitch();
    const int tiles = addTileAxis(b_, row_.box, {column}, {{row_.panel.stream, row_.panel.tile}});
    const std::vector<PassAxis> alongW{axisOf(2, columnPitch(), pointStride(2), tiles)};
    const auto tilesOfRow = [&](int from, int to) {
      return loopNode(tiles, transform.passes(alongW, linesOfPoints(), from, to, !row_.toPoints, row_.toPoints));
    };
    // Along the others, all columns at once.
    std::vector<PassAxis> others = boxPasses(row_.box, false, [&](std::size_t a) {
      return axisOf(a, row_.tensor.stride(row_.box, a), a == 2 ? 0 : pitch(a), row_.rows);
    });
    others.pop_back();  // W
    const std::int64_t ofTensor = row_.tensor.stride(row_.box, 2);
    const PassLines columns{columns_, row_.toPoints ? ofTensor : columnPitch(),
                            row_.toPoints ? columnPitch() : ofTensor};
    std::vector<Node> nodes;
    if (!row_.toPoints) nodes.push_back(tilesOfRow(in(), between));
    for (Node& node : transform.passes(others, {columns}, row_.toPoints ? in() : between,
                                       row_.toPoints ? between : out(), row_.toPoints, !row_.toPoints))
      nodes.push_back(std::move(node));
    if (row_.toPoints) nodes.push_back(tilesOfRow(between, out()));
    return transform.overChannels(std::move(nodes));
  }

  // Points of D and of H: one after the other if there are all of H.
  std::vector<PassLines> linesOfPoints() const {
    const auto lines = [&](Range range, std::size_t axis) {
      return PassLines{range, row_.toPoints ? pitch(axis) : pointStride(axis),
                       row_.toPoints ? pointStride(axis) : pitch(axis)};
    };
    const std::int64_t each = row_.box.axes[1].points;
    const Range d = row_.box.transformed(0) ? row_.points(0) : Range{0, 1},
                h = row_.box.transformed(1) ? row_.points(1) : Range{0, 1};
    if (h == Range{0, each}) return {lines(Range{d.lo * each, d.hi * each}, 1)};
    return {lines(d, 0), lines(h, 1)};
  }

  PassRoom& room_;
  ProgramBuilder& b_;
  const std::string& name_;
  const RowOfTiles& row_;
  PassChannels channels_;
  Range TileClass::* existing_ = nullptr;
  Range columns_;       ///< elements along W that there are in the tensor
  bool byRow_ = false;  ///< or tile by tile
};

}  // namespace

std::vector<Node> transformRow(PassRoom& room, const std::string& name, const RowOfTiles& row,
                               const PassChannels& channels, std::int64_t registers) {
  return RowTransform(room, name, row, channels, registers).run();
}

}  // namespace cubejit
