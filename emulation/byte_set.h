// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond its words: a set of bytes of a buffer, a bit each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "codegen/tile/touch.h"

namespace cubejit {

class ByteSet {
 public:
  explicit ByteSet(std::int64_t bytes = 0) : words_(static_cast<std::size_t>(bytes / 64 + 1)), bytes_(bytes) {}

  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  /// What is outside the buffer is left out.
  void add(ByteRange r) {
    eachWord(clipped(r), [](std::uint64_t& word, std::uint64_t mask) {
      word |= mask;
      return true;
    });
  }
  void remove(ByteRange r) {
    eachWord(clipped(r), [](std::uint64_t& word, std::uint64_t mask) {
      word &= ~mask;
      return true;
    });
  }
  /// The first byte of the range that is not in the set, -1 if all are. What is outside the buffer counts as in it.
  std::int64_t firstMissing(ByteRange r) const {
    std::int64_t found = -1;
    const ByteRange inside = clipped(r);
    const_cast<ByteSet*>(this)->eachWord(inside, [&](std::uint64_t& word, std::uint64_t mask) {
      const std::uint64_t missing = mask & ~word;
      if (missing != 0) found = (&word - words_.data()) * 64 + std::countr_zero(missing);
      return missing == 0;
    });
    return found;
  }
  friend bool operator<(const ByteSet& a, const ByteSet& b) { return a.words_ < b.words_; }

 private:
  ByteRange clipped(ByteRange r) const { return {std::max<std::int64_t>(0, r.begin), std::min(bytes_, r.end)}; }
  template <class Use>
  void eachWord(ByteRange r, const Use& use) {
    for (std::int64_t at = r.begin; at < r.end;) {
      const std::int64_t bit = at % 64, count = std::min(r.end - at, 64 - bit);
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      if (!use(words_[static_cast<std::size_t>(at / 64)], ones << bit)) return;
      at += count;
    }
  }

  std::vector<std::uint64_t> words_;
  std::int64_t bytes_;
};

}  // namespace cubejit
