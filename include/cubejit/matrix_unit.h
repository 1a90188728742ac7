// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a unit is described that multiplies small matrices at once: a chip's cube.
#pragma once

#include <cstdint>
#include <vector>

#include "cubejit/dtype.h"
#include "cubejit/mkn.h"

namespace cubejit {

/// In which order a product adds the terms of an element. It decides the last bits, so interpreters and code keep to it.
enum class SumOrder : std::uint8_t {
  kOneByOne  ///< c = fma(a[m][k], b[k][n], c), one k after another
};

/// What one instruction multiplies for one type of operands: C[m][n] += A[m][k] * B[k][n], sums in f32.
struct MatrixProduct {
  DType operand = DType::kF16;
  Mkn shape{16, 16, 16};
  double cycles = 1;  ///< of the core, for one product
  SumOrder order = SumOrder::kOneByOne;
};

/// A matrix unit. Ascend's cube reads tiles (fractals) of `rows` rows of `rowBytes` bytes from buffers, L0A and L0B, and keeps sums in L0C; a
/// unit with tile registers of its own says how many.
struct MatrixUnit {
  int tiles = 0;  ///< registers; 0: operands and sums lie in buffers
  int rows = 16;
  std::int64_t rowBytes = 32;
  double loadCycles = 0, storeCycles = 0;  ///< of a tile register
  std::vector<MatrixProduct> products;     ///< one a type

  /// The product for a type; null if the unit lacks it. Asked for hf32 of any width, the unit's own.
  const MatrixProduct* product(DType type) const {
    for (const MatrixProduct& candidate : products) {
      if (candidate.operand == type || (isHf32(candidate.operand) && isHf32(type))) return &candidate;
    }
    return nullptr;
  }
};

}  // namespace cubejit
