// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides ranges in one pass that compilers vectorize.
#include "emulation/exponent_range.h"

#include <cstring>
#include <limits>

namespace cubejit {
namespace {

// Words without their sign are positive as signed numbers: those have minima and maxima in every vector unit.
template <class Word>
ExponentRange rangeOfWords(const std::byte* elements, std::int64_t count, int fractionBits, std::int32_t none) {
  constexpr Word kMagnitude = std::numeric_limits<Word>::max();
  Word least = kMagnitude, most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, elements + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
    word = static_cast<Word>(word & kMagnitude);
    most = std::max(most, word);
    least = std::min(least, static_cast<Word>((word - 1) & kMagnitude));  // zero is the largest
  }
  if (most == 0) return {none, none};
  const auto exponent = [&](Word word) { return static_cast<std::int32_t>(word >> fractionBits); };
  return {exponent(static_cast<Word>(least + 1)), exponent(most)};
}

}  // namespace

ExponentRange rangeOf(const std::byte* elements, std::int64_t count, DType type) {
  if (type == DType::kF16) return rangeOfWords<std::int16_t>(elements, count, 10, 15);
  if (type == DType::kBf16) return rangeOfWords<std::int16_t>(elements, count, 7, 127);
  return rangeOfWords<std::int32_t>(elements, count, 23, 127);
}

}  // namespace cubejit
