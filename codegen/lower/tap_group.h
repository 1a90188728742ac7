// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what one segment of a data gradient's box stands for: taps that reach the same rows of it.
// Leaves which there are to lower_data_channels.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace cubejit {

/// A box of rows inside the tile: half-open ranges on d, h, w.
struct Subset {
  std::int64_t dLo, dHi, hLo, hHi, wLo, wHi;
  std::vector<std::pair<std::int64_t, std::int64_t>> taps{{0, 0}};  ///< taken together: bytes from the first in A, in B
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
