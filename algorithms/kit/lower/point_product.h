// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the matrix product of one point of transforms: a block of rows (broadcast) by a few vectors stays in registers while the
// reduction runs over channels (dX) or tiles (dW).
#pragma once

#include <cstdint>

#include "codegen/tile/program.h"

namespace cubejit {

struct PointProduct {
  std::int64_t rows = 1, vectors = 1;
  int lanes = 16;
  std::int64_t unroll = 4;
  std::int64_t aRow = 0,
               aStep = 0;  ///< bytes from row to row of the broadcast operand, from step to step of the reduction
  std::int64_t bStep = 0;  ///< the same of the vectors
};

/// Results lie [row][vectors * lanes], densely.
Contract productKernel(const PointProduct& product);
/// So many steps, from the operands' beginnings on.
SegmentList productList(const PointProduct& product, std::int64_t steps);

}  // namespace cubejit
