// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the elementwise tile instruction means.
#pragma once

#include <cstdint>

#include "codegen/tile/combine.h"
#include "codegen/tile/element.h"
#include "codegen/tile/expression.h"
#include "codegen/tile/label.h"

namespace cubejit {

/// dst[r][c] = f(src[r][c], d, b, e), rounded to `to`; matrices are those of moves.h. Elements are read as f32, or are zeros.
///
/// d is the element of type `d` at D + r * dRow + c * dColumn, b that of type `b` at B + r * bRow + c * bColumn; D and B are the same in all
/// repetitions. e, of type `to`, lies where the result does, args.residual bytes further on.
///
/// With `combine`, which of two values is chosen or what their sum is, a row becomes one vector of f32 instead, from which LaneReduce makes one
/// value. Its columns lie in vectors of `lanes`, and those take turns among kMapChains accumulators:
///   acc[n] = identityOf(combine) in every lane
///   for c in 0 .. cols:  lane c % lanes of acc[c / lanes % kMapChains] = combined(combine, f(src[r][c], d, b), what it was)
///   dst[r] = two and two: (acc[1], acc[0]) and (acc[3], acc[2]), then the second of these with the first
/// Minimum and maximum pass over NaN so.
inline constexpr int kMapChains = 4;
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
  Element b = Element::kF32;
  std::int64_t bRow = 0, bColumn = 0;  ///< as d's
  Combine combine = Combine::kNone;
  Label label{};
  friend bool operator==(const Map& x, const Map& y) = default;
};

}  // namespace cubejit
