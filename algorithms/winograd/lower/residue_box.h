// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where a residue's tiles, patches, taps and points lie. Leaves what is done with them to the lowerings.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/tile_box.h"
#include "algorithms/winograd/shape.h"

namespace cubejit {

inline TileBox residueBox(const WinogradShape& s, const Residue& residue) {
  TileBox box;
  box.batch = s.view.batch;
  for (int a = 0; a < 3; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const std::int64_t stride = s.view.stride[a];
    const Elements big{stride * s.begin[i] + residue.first[i] - s.view.pad[a], stride, s.view.big.extent[a]},
        small{s.gather ? s.begin[i] - s.taps[i] + 1 : 0, 1, s.view.small.extent[a]};
    box.axes[i] =
        makeTileAxis(s.tile[i], s.taps[i], s.tiles[i] * s.tile[i], s.gather ? big : small, s.gather ? small : big);
  }
  return box;
}

inline std::vector<TileBox> residueBoxes(const WinogradShape& s, const std::vector<Residue>& residues) {
  std::vector<TileBox> boxes;
  boxes.reserve(residues.size());
  for (const Residue& residue : residues) boxes.push_back(residueBox(s, residue));
  return boxes;
}

/// Number of the residue's first tap among all, and how far apart its taps are.
inline std::int64_t firstTap(const WinogradShape& s, const Residue& r) {
  return (r.first[0] * s.view.kernel.h + r.first[1]) * s.view.kernel.w + r.first[2];
}
inline std::int64_t tapStep(const WinogradShape& s, std::size_t axis) {
  const Dhw& k = s.view.kernel;
  return s.view.stride[static_cast<int>(axis)] * (axis == 2 ? 1 : axis == 1 ? k.w : k.h * k.w);
}

/// An axis over the points of a box, the first one `first` away, whose class tells which of them residues of a tap less do not have: bit a, along axis a.
inline int addPointAxis(ProgramBuilder& b, const WinogradShape& s, const AxisDeltas& first, const AxisDeltas& step) {
  const bool some = s.residues > 1;
  const int axis = b.addAxis("point", some ? 8 : 1);
  for (std::int64_t point = 0; point < s.volume(); ++point) {
    const std::array<std::int64_t, 3> at{point / (s.points[1] * s.points[2]), point / s.points[2] % s.points[1],
                                         point % s.points[2]};
    int dropped = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      const bool uneven = s.view.stride[static_cast<int>(a)] * s.taps[a] > s.view.kernel[static_cast<int>(a)];
      if (uneven && at[a] == droppedPoint(s, a)) dropped |= 1 << a;
    }
    AxisDeltas deltas = first;
    for (const auto& [stream, bytes] : step) deltas.emplace_back(stream, point * bytes);
    b.addStep(axis, deltas, dropped);
  }
  return axis;
}

/// Axis `axis` is dealt as `other` is.
inline void dealLike(ProgramBuilder& b, int axis, int other) {
  const Axis dealt = b.phase().axes[static_cast<std::size_t>(other)];
  b.phase().axes[static_cast<std::size_t>(axis)].windowAxis = dealt.windowAxis;
  b.phase().axes[static_cast<std::size_t>(axis)].windows = dealt.windows;
}

/// Tasks that are a row of tiles of every residue each.
struct TaskRows {
  int axis = -1;
  std::vector<Node> body;
};
/// `rowsOf(residue)` adds the residue's axis of rows, `bodyOf(residue, axis)` is what is done with a row.
template <class RowsOf, class BodyOf>
TaskRows rowTasks(ProgramBuilder& b, std::int64_t residues, const RowsOf& rowsOf, const BodyOf& bodyOf) {
  const int first = rowsOf(std::size_t{0});
  if (residues == 1) return {first, bodyOf(std::size_t{0}, first)};
  TaskRows tasks;
  tasks.axis = b.addPartition("row", first, b.axisSteps(first));
  for (std::size_t q = 0; q < static_cast<std::size_t>(residues); ++q) {
    const int rows = q == 0 ? first : rowsOf(q);
    if (q > 0) dealLike(b, rows, first);
    tasks.body.push_back(loopNode(rows, bodyOf(q, rows)));
  }
  return tasks;
}

}  // namespace cubejit
