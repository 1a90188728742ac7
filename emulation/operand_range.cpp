// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides ranges in one pass that compilers vectorize.
#include "emulation/operand_range.h"

#include <cstring>

namespace cubejit {

OperandRange rangeOf(const std::byte* elements, std::int64_t count) {
  std::uint16_t least = 0xffff, most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t word;
    std::memcpy(&word, elements + i * 2, 2);
    const auto magnitude = static_cast<std::uint16_t>(word << 1);  // without the sign
    most = std::max(most, magnitude);
    least = std::min(least, static_cast<std::uint16_t>(magnitude - 1));  // zero is the largest
  }
  if (most == 0) return {};
  return {(least + 1) >> 8, most >> 8};
}

}  // namespace cubejit
