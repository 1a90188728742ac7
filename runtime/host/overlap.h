// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when two pieces of memory are not each other's own.
#pragma once

#include <cstdint>

namespace cubejit {

/// Whether two ranges have a byte in common; empty ones have none.
inline bool overlap(const void* x, std::int64_t xBytes, const void* y, std::int64_t yBytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(x), b = reinterpret_cast<std::uintptr_t>(y);
  return xBytes > 0 && yBytes > 0 && a < b + static_cast<std::uintptr_t>(yBytes) &&
         b < a + static_cast<std::uintptr_t>(xBytes);
}

}  // namespace cubejit
