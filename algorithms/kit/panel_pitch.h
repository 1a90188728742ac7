// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how far apart the rows of a panel lie.
#pragma once

#include <cstdint>

namespace cubejit {

/// Bytes from one row of `bytes` to the next: a whole number of lines, and never a multiple of 1 KiB (set conflicts).
constexpr std::int64_t panelPitch(std::int64_t bytes) {
  const std::int64_t lines = (bytes + 63) / 64 * 64;
  return lines % 1024 == 0 ? lines + 64 : lines;
}

}  // namespace cubejit
