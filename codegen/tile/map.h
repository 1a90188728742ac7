// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the elementwise tile instruction means.
#pragma once

#include <cstdint>

#include "codegen/tile/element.h"
#include "codegen/tile/expression.h"
#include "codegen/tile/label.h"

namespace cubejit {

/// dst[r][c] = f(src[r][c], d, e), rounded to `to`; matrices are those of moves.h. Elements are read as f32, or are zeros.
///
/// d is the element of type `d` at D + r * dRow + c * dColumn; D is the same in all repetitions. e, of type `to`, lies where the result does,
/// args.residual bytes further on.
struct Map {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;
  std::int64_t srcPitch = 0, dstPitch = 0;
  std::int64_t padCols = 0;  ///< as a Copy's
  bool zeros = false;        ///< instead of what src has: nothing is read there
  Element from = Element::kF32, to = Element::kF32;
  bool streamingStore = false;
  Expression f{};
  Element d = Element::kF32;
  std::int64_t dRow = 0,
               dColumn = 0;  ///< bytes; a column's are those of an element of `d`, or 0: all have the row's, an f32
  Label label{};
  friend bool operator==(const Map& x, const Map& y) = default;
};

}  // namespace cubejit
