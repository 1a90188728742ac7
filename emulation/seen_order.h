// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how pixels are ordered by residue class, and what is known of an image that was unfolded so. Leaves finding it to
// seen_fractals.
#pragma once

#include <cstdint>
#include <vector>

#include "emulation/unit_program.h"

namespace cubejit {

/// Pixels of one row and class: (h, x), (h, x + stride), ... They are rows `position` and following of A and of the sums.
struct PixelRun {
  std::int64_t h = 0, x = 0, count = 0, position = 0;
};

/// What a unit's tap sees of a run: `count` elements, a stride apart, the first at (row, column) of the piece in L1.
struct SeenSpan {
  std::int64_t unit = 0, position = 0, count = 0, row = 0, column = 0;
};

/// Of one Unfold to L0A: for each unit and each 16 rows of A, how many of them see an element.
struct SeenFractals {
  Span pixels;
  std::int64_t rowLength = 0, strideH = 0, strideW = 0;  ///< what the runs were made for, with `pixels`
  std::vector<PixelRun> runs;
  std::int64_t units = 0, m1 = 0;
  std::int64_t count = 0;          ///< of fractals that are seen
  std::vector<std::uint8_t> rows;  ///< [unit][m1]
  std::vector<SeenSpan> spans;

  std::int64_t rowsAt(std::int64_t unit, std::int64_t m) const { return rows[static_cast<std::size_t>(unit * m1 + m)]; }
  bool at(std::int64_t unit, std::int64_t m) const { return rowsAt(unit, m) != 0; }
  /// Whether the same units are seen in two columns.
  bool sameColumn(std::int64_t m, std::int64_t other) const {
    for (std::int64_t u = 0; u < units; ++u) {
      if (at(u, m) != at(u, other)) return false;
    }
    return true;
  }
  /// The row of A and of the sums that each pixel is, counted from the first.
  std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> found(static_cast<std::size_t>(m1 * 16));
    for (std::int64_t m = 0; m < m1 * 16; ++m) found[static_cast<std::size_t>(m)] = m;
    for (const PixelRun& run : runs) {
      for (std::int64_t j = 0; j < run.count; ++j)
        found[static_cast<std::size_t>(run.h * rowLength + run.x + j * strideW - pixels.begin)] = run.position + j;
    }
    return found;
  }
};

}  // namespace cubejit
