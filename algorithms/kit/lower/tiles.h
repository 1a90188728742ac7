// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an axis is cut into tiles of transforms: m elements of the filtered side and the m + taps - 1 of the padded side that
// they meet. Tiles at the edges miss some of either; tiles that miss the same are one class.
// Leaves what is done with a class to linear_transforms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/kit/range.h"
#include "tiling/rounding.h"

namespace cubejit {

/// Which positions of a tensor the elements of an axis are: number e, which may be negative, is position first + e * step. Those that agree
/// modulo a stride are such elements.
struct Elements {
  std::int64_t first = 0, step = 1, extent = 0;
  /// Elements that lie in the tensor.
  Range existing() const { return {ceilDiv(-first, step), ceilDiv(extent - first, step)}; }
  friend bool operator==(const Elements& x, const Elements& y) = default;
};

/// What exists of a tile: elements of its patch, counted from the patch's first, and of its m.
struct TileClass {
  Range patch, tile;
  friend bool operator==(const TileClass& x, const TileClass& y) = default;
};

struct TileAxis {
  std::int64_t m = 1, points = 1;
  Elements tiled, patched;  ///< tile i has elements i * m on of `tiled`, its patch those of `patched`
  std::vector<TileClass> classes;
  std::vector<int> classOf;  ///< by tile
  std::int64_t tiles() const { return static_cast<std::int64_t>(classOf.size()); }
};

/// `count` elements of the tiled side are cut into pieces of m.
inline TileAxis makeTileAxis(std::int64_t m, std::int64_t taps, std::int64_t count, const Elements& tiled,
                             const Elements& patched) {
  TileAxis axis;
  axis.m = m;
  axis.points = m + taps - 1;
  axis.tiled = tiled;
  axis.patched = patched;
  const auto within = [](const Range& existing, std::int64_t at, std::int64_t most) {
    const std::int64_t lo = std::clamp<std::int64_t>(existing.lo - at, 0, most);
    return Range{lo, std::clamp<std::int64_t>(existing.hi - at, lo, most)};
  };
  for (std::int64_t at = 0; at < count; at += m) {
    const TileClass c{within(patched.existing(), at, axis.points), within(tiled.existing(), at, m)};
    auto known = std::find(axis.classes.begin(), axis.classes.end(), c);
    axis.classOf.push_back(static_cast<int>(known - axis.classes.begin()));
    if (known == axis.classes.end()) axis.classes.push_back(c);
  }
  return axis;
}

}  // namespace cubejit
