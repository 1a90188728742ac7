// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an axis is cut into tiles of transforms: m positions of the filtered side and the m + taps - 1 of the padded side that
// they meet. Tiles at the edges miss some of either; tiles that miss the same are one class.
// Leaves what is done with a class to linear_transforms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/kit/range.h"

namespace cubejit {

/// What exists of a tile: positions of its patch, counted from the patch's first, and of its m.
struct TileClass {
  Range patch, tile;
  friend bool operator==(const TileClass& x, const TileClass& y) = default;
};

struct TileAxis {
  std::int64_t m = 1, points = 1;
  std::int64_t pad = 0;  ///< the patch of the first tile starts this far before the tensor
  std::vector<TileClass> classes;
  std::vector<int> classOf;  ///< by tile
  std::int64_t tiles() const { return static_cast<std::int64_t>(classOf.size()); }
  std::int64_t patchStart(std::int64_t tile) const { return tile * m - pad; }
};

/// `tiled`: extent that is cut into pieces of m; `patched`: extent of the tensor whose patches they meet.
inline TileAxis makeTileAxis(std::int64_t m, std::int64_t taps, std::int64_t pad, std::int64_t tiled,
                             std::int64_t patched) {
  TileAxis axis;
  axis.m = m;
  axis.points = m + taps - 1;
  axis.pad = pad;
  for (std::int64_t at = 0; at < tiled; at += m) {
    const std::int64_t start = at - pad;
    TileClass c;
    c.patch.lo = std::clamp<std::int64_t>(-start, 0, axis.points);
    c.patch.hi = std::clamp<std::int64_t>(patched - start, c.patch.lo, axis.points);
    c.tile = Range{0, std::min(m, tiled - at)};
    auto known = std::find(axis.classes.begin(), axis.classes.end(), c);
    axis.classOf.push_back(static_cast<int>(known - axis.classes.begin()));
    if (known == axis.classes.end()) axis.classes.push_back(c);
  }
  return axis;
}

}  // namespace cubejit
