// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the matrix of a linear transform is. Leaves how transforms apply it to linear_transforms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cubejit {

/// Row-major.
struct Matrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<float> values;
  float at(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
};

/// The same filter applied from its other end: columns in reverse order.
inline Matrix reversedColumns(Matrix matrix) {
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    const auto row = matrix.values.begin() + static_cast<std::ptrdiff_t>(r * matrix.cols);
    std::reverse(row, row + static_cast<std::ptrdiff_t>(matrix.cols));
  }
  return matrix;
}

}  // namespace cubejit
