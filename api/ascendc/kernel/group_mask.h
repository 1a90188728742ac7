// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which elements of a block of dW are products of one group. Small groups share a real group, whose block has the products
// of all its channels with each other; in FRACTAL_Z_3D those of different groups are 0. Leaves writing to store_sums.
#pragma once

#include <cstdint>

namespace cubejit::ascendc {

/// Rows are channels of gradOutput, columns channels of the input in panels of c0, once a tap. All counts from where the real group
/// begins.
struct GroupMask {
  std::int64_t rowsOfGroup = 0, channelsOfGroup = 0;  ///< 0: nothing is masked
  std::int64_t firstRow = 0;                          ///< of the block
  std::int64_t firstChannel = 0, firstColumn = 0;     ///< of the single shape; of the block in it
  std::int64_t c0 = 16, taps = 1;

  bool masks() const { return rowsOfGroup > 0; }
  bool keeps(std::int64_t row, std::int64_t column) const {
    if (!masks()) return true;
    const std::int64_t at = firstColumn + column, channel = firstChannel + at / (taps * c0) * c0 + at % c0;
    return (firstRow + row) / rowsOfGroup == channel / channelsOfGroup;
  }
};

}  // namespace cubejit::ascendc
