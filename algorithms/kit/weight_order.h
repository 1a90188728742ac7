// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where weights lie in memory: in any order of their axes, with gaps or without, they are equally far apart along each, and those
// distances are all that packing and unpacking go by. Leaves weights in blocks (fractal_z_3d) to reorders.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cubejit/index_map.h"

namespace cubejit {

/// Bytes between neighbours.
struct WeightOrder {
  std::int64_t element = 4;
  std::int64_t group = 0, small = 0, big = 0;  ///< channels of the small and of the big tensor, see conv_view.h
  Dhw tap{0, 0, 0};
  std::int64_t bytes = 0;  ///< of all weights
};

/// True of weights that have one: not in blocks, and no two at one place.
inline bool hasOrder(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  if (!f.strided()) return f.layout != Layout::kFractalZ3d;
  const IndexMap map = indexMap(p, t);
  std::array<std::pair<std::int64_t, std::int64_t>, 5> axes;  // stride, extent
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Digit& d = map.digits[a][0];
    axes[a] =
        d.extent == 1 ? std::pair{std::numeric_limits<std::int64_t>::max(), d.extent} : std::pair{d.stride, d.extent};
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 1;
  for (const auto& [stride, extent] : axes) {
    if (extent == 1) continue;
    if (stride < reach) return false;
    reach += (extent - 1) * stride;
  }
  return formatBytes(p, t) <= std::numeric_limits<std::int32_t>::max();  // displacements reach all of them
}

/// Precondition: hasOrder().
inline WeightOrder weightOrder(const Problem& p, TensorId t) {
  const IndexMap map = indexMap(p, t);
  WeightOrder order;
  order.element = byteSize(formatOf(p, t).dtype);
  const auto pitch = [&](std::size_t axis) { return map.digits[axis][0].stride * order.element; };
  order.small = pitch(0);
  order.big = pitch(1);
  order.group = map.extent[0] / map.groups * order.small;
  order.tap = {pitch(2), pitch(3), pitch(4)};
  order.bytes = formatBytes(p, t);
  return order;
}

/// A dimension of weights that are packed or unpacked: how many, and bytes between neighbours on either side.
struct WeightDim {
  std::int64_t count = 1, ordered = 0, packed = 0;
};

/// Outermost first; those that go on where the next one ends, on both sides, are one with it, and those of one element are none.
inline std::vector<WeightDim> joined(const std::vector<WeightDim>& dims) {
  std::vector<WeightDim> out;
  for (const WeightDim& d : dims) {
    if (d.count == 1) continue;
    if (!out.empty() && out.back().ordered == d.count * d.ordered && out.back().packed == d.count * d.packed)
      out.back() = {out.back().count * d.count, d.ordered, d.packed};
    else
      out.push_back(d);
  }
  return out;
}

/// Taps that are `packed` bytes apart when they are packed.
inline std::vector<WeightDim> tapDims(const Dhw& kernel, const Dhw& tap, std::int64_t packed) {
  return {
      {kernel.d, tap.d, kernel.h * kernel.w * packed}, {kernel.h, tap.h, kernel.w * packed}, {kernel.w, tap.w, packed}};
}

/// What makes a matrix with the lanes, so that both sides of a move are read and written along what lies side by side.
enum class WeightMatrix : std::uint8_t {
  kTaps,   ///< taps are neighbours: they and lanes change places
  kLanes,  ///< lanes are: they stay side by side, and the rows are channels
  kRows    ///< channels that are no lanes are: they and lanes change places
};

/// The matrix of weights in an order, and the loops over taps around it.
struct WeightMoves {
  WeightMatrix matrix = WeightMatrix::kTaps;
  WeightDim taps;                ///< of the matrix, if it is of taps; else a single one
  std::vector<WeightDim> loops;  ///< outermost first
};

/// `lanes`, `rows`: whether those are neighbours in memory. A single tap is a neighbour of itself where lanes are not.
inline WeightMoves weightMoves(const Dhw& kernel, const Dhw& tap, std::int64_t packed, std::int64_t element, bool lanes,
                               bool rows) {
  WeightMoves moves{WeightMatrix::kTaps, {1, element, packed}, {}};
  moves.loops = joined(tapDims(kernel, tap, packed));
  const auto near =
      std::find_if(moves.loops.begin(), moves.loops.end(), [&](const WeightDim& d) { return d.ordered == element; });
  if (near != moves.loops.end()) {
    moves.taps = *near;
    moves.loops.erase(near);
  } else if (lanes) {
    moves.matrix = WeightMatrix::kLanes;
  } else if (rows && !moves.loops.empty()) {
    moves.matrix = WeightMatrix::kRows;
  }
  return moves;
}

}  // namespace cubejit
