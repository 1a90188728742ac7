// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how pixels are ordered by residue class, and what is known of an image that was unfolded so. Leaves finding it to
// seen_fractals.
#pragma once

#include <cstdint>
#include <vector>

#include "tiling/npu/unit_program.h"

namespace cubejit {

/// Pixels of one row and class: (h, x), (h, x + stride), ... They are rows `position` and following of A and of the sums.
struct ClassRun {
  std::int64_t h = 0, x = 0, count = 0, position = 0;
};

/// What a unit's tap sees of a run: `count` elements, a stride apart, the first at (row, column) of the piece in L1.
struct SeenSpan {
  std::int64_t unit = 0, position = 0, count = 0, row = 0, column = 0;
};

/// Rows of A that are left out or not together: a quarter of a fractal, as few as a kernel multiplies at once.
inline constexpr std::int64_t kSeenRows = 4;

/// Rows [begin, end) of A, multiples of kSeenRows, of which the same units are taken.
struct SeenRange {
  std::int64_t begin = 0, end = 0;
};

/// Of one Unfold to L0A: for all rows of A, up to the next kSeenRows, which units see an element there. Where some pixels of a run do,
/// all of it is taken: ends of rows are not worth multiplications of their own.
struct SeenFractals {
  Span pixels;
  std::int64_t rowLength = 0, strideH = 0, strideW = 0;  ///< what the runs were made for, with `pixels`
  std::vector<ClassRun> runs;
  std::int64_t units = 0, m1 = 0;
  std::int64_t count = 0;             ///< of units that are taken, in all ranges
  std::vector<SeenRange> ranges;      ///< ascending, without gaps
  std::vector<std::uint64_t> bits;    ///< [range][units, 64 a word]: which are taken
  std::vector<std::uint64_t> ofRuns;  ///< the same of each run
  std::vector<std::uint64_t> shared;  ///< room for those of rows that runs share
  std::vector<SeenSpan> spans;        ///< by unit, then by position

  std::int64_t words() const { return (units + 63) / 64; }
  bool taken(std::int64_t unit, std::size_t range) const {
    return (bits[range * static_cast<std::size_t>(words()) + static_cast<std::size_t>(unit / 64)] >> (unit % 64) & 1) !=
           0;
  }
  /// Whether a row is taken.
  bool at(std::int64_t unit, std::int64_t row) const {
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      if (row < ranges[r].end) return taken(unit, r);
    }
    return false;
  }
  /// The row of A and of the sums that each pixel is, counted from the first.
  std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> found(static_cast<std::size_t>(m1 * 16));
    for (std::int64_t m = 0; m < m1 * 16; ++m) found[static_cast<std::size_t>(m)] = m;
    for (const ClassRun& run : runs) {
      for (std::int64_t j = 0; j < run.count; ++j)
        found[static_cast<std::size_t>(run.h * rowLength + run.x + j * strideW - pixels.begin)] = run.position + j;
    }
    return found;
  }
};

}  // namespace cubejit
