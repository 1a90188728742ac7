// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a range of positions is: half-open. Leaves of what to its users.
#pragma once

#include <cstdint>

namespace cubejit {

struct Range {
  std::int64_t lo = 0, hi = 0;
  std::int64_t length() const { return hi > lo ? hi - lo : 0; }
  friend bool operator==(const Range& x, const Range& y) = default;
};

}  // namespace cubejit
