// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how offsets of coordinates that follow each other are found: as digits are counted, without a division each.
// Leaves what the offset of one coordinate is to cubejit/index_map.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cubejit/index_map.h"

namespace cubejit {

/// Coordinates from `first` on, along one axis of a map. Precondition: first >= 0.
class AxisWalk {
 public:
  AxisWalk(const IndexMap& map, std::size_t axis, std::int64_t first) : digits_(map.digits[axis]) {
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const Digit& d = digits_[i];
      const std::int64_t value = first / d.unit % d.extent;
      left_[i] = {d.unit - first % d.unit, d.extent - value};
      offset_ += value * d.stride;
    }
  }
  std::int64_t offset() const { return offset_; }
  void next() {
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const Digit& d = digits_[i];
      Left& left = left_[i];
      if (d.stride == 0 || --left.inUnit > 0) continue;
      left.inUnit = d.unit;
      offset_ += d.stride;
      if (--left.inDigit > 0) continue;
      left.inDigit = d.extent;
      offset_ -= d.extent * d.stride;
    }
  }

 private:
  struct Left {  ///< coordinates until the digit changes, values until it is 0 again
    std::int64_t inUnit = 1, inDigit = 1;
  };
  const std::array<Digit, 3>& digits_;
  std::array<Left, 3> left_{};
  std::int64_t offset_ = 0;
};

/// Calls take(offset) for `count` coordinates from `first` on. Where only the digit of the coordinates themselves changes, that is one
/// addition each. Precondition: first >= 0.
template <class Take>
void eachOffset(const IndexMap& map, std::size_t axis, std::int64_t first, std::int64_t count, const Take& take) {
  const auto& digits = map.digits[axis];
  const Digit& lowest = digits[0];
  const bool others = lowest.unit == 1 && std::all_of(digits.begin() + 1, digits.end(), [&](const Digit& d) {
                        return d.stride == 0 || d.extent == 1 || d.unit % lowest.extent == 0;
                      });
  if (!others) {
    AxisWalk walk(map, axis, first);
    for (std::int64_t i = 0; i < count; ++i, walk.next()) take(walk.offset());
    return;
  }
  for (const std::int64_t end = first + count; first < end;) {
    const std::int64_t here = std::min(end - first, lowest.extent - first % lowest.extent);
    std::int64_t offset = map.along(axis, first);
    for (std::int64_t i = 0; i < here; ++i, offset += lowest.stride) take(offset);
    first += here;
  }
}

}  // namespace cubejit
