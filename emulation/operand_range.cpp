// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides ranges in one pass that compilers vectorize.
#include "emulation/operand_range.h"

#include <cstring>

namespace cubejit {
namespace {

template <class Word>
OperandRange rangeOfWords(const std::byte* elements, std::int64_t count, int fractionBits, std::int32_t none) {
  Word least = static_cast<Word>(-1), most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, elements + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
    const auto magnitude = static_cast<Word>(word << 1);  // without the sign
    most = std::max(most, magnitude);
    least = std::min(least, static_cast<Word>(magnitude - 1));  // zero is the largest
  }
  if (most == 0) return {none, none};
  const auto exponent = [&](Word magnitude) { return static_cast<std::int32_t>(magnitude >> (fractionBits + 1)); };
  return {exponent(static_cast<Word>(least + 1)), exponent(most)};
}

}  // namespace

OperandRange rangeOf(const std::byte* elements, std::int64_t count, DType type) {
  if (type == DType::kF16) return rangeOfWords<std::uint16_t>(elements, count, 10, 15);
  if (type == DType::kBf16) return rangeOfWords<std::uint16_t>(elements, count, 7, 127);
  return rangeOfWords<std::uint32_t>(elements, count, 23, 127);
}

}  // namespace cubejit
