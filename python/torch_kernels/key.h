// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when two calls of a convolution are the same to whoever decides who computes them: if their lists of numbers are equal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cubejit::torch_kernels {

/// A short list of numbers. It is made at each call, and so it lies in no heap.
class Key {
 public:
  static constexpr std::size_t kMost = 72;  ///< enough for four tensors of five axes and their geometry

  void add(std::int64_t number) {
    if (size_ == kMost) {
      fits_ = false;
      return;
    }
    numbers_[size_++] = number;
    hash_ = hash_ * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(number);
  }
  /// With its length, so that no two sequences of lists are alike.
  template <class List>
  void addAll(const List& list) {
    add(static_cast<std::int64_t>(list.size()));
    for (const std::int64_t number : list) add(number);
  }
  /// False: there were more numbers than a convolution has.
  bool fits() const { return fits_; }
  std::size_t hash() const { return hash_ ^ hash_ >> 32; }
  bool operator==(const Key& other) const {
    return size_ == other.size_ && std::equal(numbers_.begin(), numbers_.begin() + size_, other.numbers_.begin());
  }

 private:
  std::array<std::int64_t, kMost> numbers_;  // as many as size_ says
  std::size_t size_ = 0;
  std::uint64_t hash_ = 0;
  bool fits_ = true;
};

struct HashOfKey {
  std::size_t operator()(const Key& key) const { return key.hash(); }
};

}  // namespace cubejit::torch_kernels
