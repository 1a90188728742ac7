// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many bytes a plan takes in each buffer of an NPU core. Leaves to the rules what is too many.
#pragma once

#include <cstdint>
#include <limits>

#include "algorithms/cube/work.h"
#include "cubejit/plan.h"

namespace cubejit {

/// A piece of the unfolded operand in L1: what one step of a plan unfolds.
struct UnfoldedPiece {
  std::int64_t rows = 0, columns = 0;          ///< in L1; where it is spread, with the zeros between
  std::int64_t rowsRead = 0, columnsRead = 0;  ///< in memory
  std::int64_t blocks = 0;                     ///< of c0 channels
};

/// Bytes taken in each buffer. l1A and l1B are of one copy; `total` counts ping-pong.
struct CubeFootprint {
  std::int64_t l0a = 0, l0b = 0, l0c = 0, l1A = 0, l1B = 0, l1 = 0;
  std::int64_t ub = 0;  ///< of a chip without fixpipe: a strip of results on its way out, twice
  UnfoldedPiece piece;
};

/// Precondition: all extents of the plan are at least 1. Saturates instead of overflowing.
CubeFootprint footprintOf(const CubeWork& work, const TilingPlan& plan);

/// a * b, or the largest value if it does not fit. Both must not be negative.
inline std::int64_t saturatingProduct(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace cubejit
