// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the box of tiles of an algorithm that multiplies transforms: tiles along three axes, the order of its points, the row of tiles that tasks are dealt.
// Leaves loads, products and results to lowerings.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/linear_transforms.h"
#include "algorithms/kit/lower/tiles.h"

namespace cubejit {

struct TileBox {
  std::array<TileAxis, 3> axes;  ///< d, h, w
  std::int64_t batch = 1;

  std::int64_t points() const { return axes[0].points * axes[1].points * axes[2].points; }
  /// Point (d, h, w) is number (d * H + h) * W + w.
  std::int64_t pointStep(std::size_t axis) const {
    return axis == 2 ? 1 : axis == 1 ? axes[2].points : axes[1].points * axes[2].points;
  }
  bool transformed(std::size_t axis) const { return axes[axis].points > 1; }
  /// Rows of tiles along W, over images, depths and heights.
  std::int64_t rows() const { return batch * axes[0].tiles() * axes[1].tiles(); }
  std::int64_t tilesOfRow() const { return axes[2].tiles(); }
  int rowClasses() const { return static_cast<int>(axes[0].classes.size() * axes[1].classes.size()); }
};

/// A side of the tiles.
using TileSide = Elements TileAxis::*;

/// What a stream moves by from image to image, and from tile to tile along each axis; `origin`: where tile 0 starts.
struct TileStream {
  int stream = -1;
  std::int64_t image = 0;
  std::array<std::int64_t, 3> tile{};
  std::int64_t origin = 0;
};
/// `tensor` is that side of the box.
TileStream tensorStream(int stream, const TensorView& tensor, const TileBox& box, TileSide side);

/// The axis of rows of tiles, and that of tiles in a row. `panels`: (stream, bytes a tile) that count rows and tiles.
int addRowAxis(ProgramBuilder& b, const TileBox& box, const std::vector<TileStream>& tensors,
               const std::vector<std::pair<int, std::int64_t>>& panels);
int addTileAxis(ProgramBuilder& b, const TileBox& box, const std::vector<TileStream>& tensors,
                const std::vector<std::pair<int, std::int64_t>>& panels);

/// The passes along the axes that are transformed, W first (reads tensors row by row) or last (writes them so).
std::vector<PassAxis> boxPasses(const TileBox& box, bool fromW, const std::function<PassAxis(std::size_t axis)>& pass);

/// What exists of the patches, or tiles, by class of addRowAxis' axis (d, h) or addTileAxis' (w).
std::vector<Range> tileRanges(const TileBox& box, std::size_t axis, Range TileClass::* existing);
/// Bytes between an axis' elements of a tensor that is that side of the box.
std::int64_t elementStride(const TensorView& tensor, const TileBox& box, TileSide side, std::size_t axis);

}  // namespace cubejit
