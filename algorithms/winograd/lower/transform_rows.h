// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a row of tiles is transformed. Along D and H columns of the whole row go at once: neighbouring patches share them, and there are few
// calls. Along W it is tile by tile, before that or behind it. Rows that are too long for that, and those of one axis, are transformed tile by tile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/kit/lower/linear_transforms.h"
#include "algorithms/kit/lower/tile_box.h"
#include "algorithms/winograd/lower/tile_rows.h"

namespace cubejit {

/// Points of tiles in a panel [point][tile][channel].
struct PointPanel {
  int stream = -1;
  std::int64_t tile = 0, point = 0;  ///< bytes to the next one
};

struct RowOfTiles {
  const TileBox& box;
  TileRows& tensor;
  PointPanel panel;
  int rows = -1;         ///< the axis of rows of tiles
  bool toPoints = true;  ///< from the tensor to points, or back
  std::function<Matrix(std::size_t axis)> matrix;
  std::function<Range(std::size_t axis)> points;  ///< those that there are
};

/// The nodes of a row. `channels`: with the most vectors to take at once; fewer are taken if they do not fit `registers`.
std::vector<Node> transformRow(PassRoom& room, const std::string& name, const RowOfTiles& row,
                               const PassChannels& channels, std::int64_t registers);

}  // namespace cubejit
