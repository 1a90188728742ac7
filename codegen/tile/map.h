// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the elementwise tile instruction means.
#pragma once

#include <cstdint>

#include "codegen/tile/element.h"
#include "codegen/tile/label.h"
#include "cubejit/post_ops.h"

namespace cubejit {

/// dst[r][c] = f(src[r][c]), rounded to `to`; matrices are those of moves.h. Elements are read as f32, or are zeros.
///
/// f are post-ops as in contract.h. Their bias is the f32 at D + r * biasRow + c * biasColumn; where columns differ, whole vectors are
/// read, whatever is left of a row. D is the same in all repetitions.
///
/// `backward`, of one row whose elements are of type `from`: D leads to a row of what the activation of `post` gave, elements of type
/// `result`. f is the element times the activation's slope there, 0 where that is 0 (post_ops.h).
struct Map {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;
  std::int64_t srcPitch = 0, dstPitch = 0;
  std::int64_t padCols = 0;  ///< as a Copy's
  bool zeros = false;        ///< instead of what src has: nothing is read there
  Element from = Element::kF32, to = Element::kF32;
  bool streamingStore = false;
  PostOps post{};
  std::int64_t biasRow = 0, biasColumn = 0;  ///< bytes; a column's are 0 or 4
  bool backward = false;
  Element result = Element::kF32;
  Label label{};
  friend bool operator==(const Map& x, const Map& y) = default;
};

}  // namespace cubejit
