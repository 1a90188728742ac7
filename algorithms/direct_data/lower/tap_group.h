// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what one segment of a data gradient's box stands for: taps that reach the same rows of it, or that share its scalars.
// Leaves which there are to lower.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace cubejit {

/// A tap of a segment: bytes from the first one in A, in B, and the results it reaches on the axis that the taps are along.
struct GroupedTap {
  std::int64_t a = 0, b = 0, lo = 0, hi = 0;
  friend bool operator==(const GroupedTap& x, const GroupedTap& y) = default;
};

/// A box of rows inside the tile: half-open ranges on d, h, w. On the axis of its taps it is what any of them reaches.
struct Subset {
  std::int64_t dLo, dHi, hLo, hHi, wLo, wHi;
  std::vector<GroupedTap> taps;
  bool prefetches = false;  ///< lines of operands to come
  friend bool operator==(const Subset& x, const Subset& y) = default;
};

/// What one segment does: which rows, and where its operands start.
struct TapGroup {
  Subset rows;
  std::int64_t aOffset = 0, bOffset = 0;
};

/// How many results a box has along images, d, h, w.
struct Lens {
  std::int64_t n, d, h, w;
  friend bool operator==(const Lens& x, const Lens& y) = default;
};

}  // namespace cubejit
