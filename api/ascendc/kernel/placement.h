// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the elements of a block of C lie in a result tensor, as distances. Leaves to tasks which distances.
#pragma once

#include <cstdint>

namespace cubejit::ascendc {

/// Element (row, column) of a block lies at first + row * rowStride + column / panel * panelStride + column % panel elements from
/// where the output begins.
struct Placement {
  std::int64_t first = 0, rowStride = 1, panel = 1, panelStride = 1;
  std::int64_t rows = 0, columns = 0;  ///< what is written of the block

  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return first + row * rowStride + column / panel * panelStride + column % panel;
  }
  /// Calls visit(row, column, count, at) for every run of neighbours in a panel.
  template <class Visit>
  void eachRun(const Visit& visit) const {
    for (std::int64_t c = 0; c < columns;) {
      const std::int64_t count = panel - c % panel < columns - c ? panel - c % panel : columns - c;
      std::int64_t here = at(0, c);
      for (std::int64_t r = 0; r < rows; ++r, here += rowStride) visit(r, c, count, here);
      c += count;
    }
  }
  /// The furthest one written: panels follow each other, so it is in the last. Precondition: something is written.
  std::int64_t last() const { return at(rows - 1, columns - 1); }
};

}  // namespace cubejit::ascendc
