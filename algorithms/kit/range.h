// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a range of positions is: half-open; and how one is cut. Leaves of what to its users.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tiling/work_limit.h"

namespace cubejit {

struct Range {
  std::int64_t lo = 0, hi = 0;
  std::int64_t length() const { return hi > lo ? hi - lo : 0; }
  friend bool operator==(const Range& x, const Range& y) = default;
};

/// [0, count) in pieces of `most`; the last one may be shorter.
inline std::vector<Range> cutInto(std::int64_t count, std::int64_t most) {
  limitWork(most > 0 ? count / most : 0, kMostSteps, "pieces of an axis");
  std::vector<Range> pieces;
  for (std::int64_t at = 0; at < count; at += most) pieces.push_back({at, std::min(at + most, count)});
  return pieces;
}

/// Largest divisor of n that is at most `limit` (1 if n is 0).
inline std::int64_t divisorAtMost(std::int64_t n, std::int64_t limit) {
  for (std::int64_t d = std::min(n, limit); d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

/// Where a task's part of a tensor begins along an axis, in positions.
struct BlockStart {
  std::int64_t base = 0;    ///< what the microkernel's offsets count from
  std::int64_t origin = 0;  ///< what position 0 of a panel stands for; may lie outside the tensor
  std::int64_t first = 0;   ///< first position that the panel has from the tensor
};

}  // namespace cubejit
