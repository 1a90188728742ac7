// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which bytes one kernel call reads and writes, relative to its pointers a, b, c and d. Run-time repetition is left to callers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "codegen/tile/program.h"

namespace cubejit {

/// Half-open range of bytes; empty if begin >= end.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  friend bool operator==(const ByteRange& x, const ByteRange& y) = default;
};

enum class CallOperand : std::uint8_t { kA, kB, kC, kD };

/// Smallest ranges that hold all bytes touched through a, b, c and d; exact at both ends. `list` is null for moves without one.
std::array<ByteRange, 4> extents(const Kernel& kernel, const SegmentList* list);

/// Visits every range touched through `operand`, possibly several times, until `visit` returns false; false if it did.
bool visitTouched(const Kernel& kernel, const SegmentList* list, CallOperand operand,
                  const std::function<bool(ByteRange)>& visit);

}  // namespace cubejit
