// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the data-movement tile instruction means: a move of one of the kinds below copies or transposes one matrix and converts
// its elements, zeroes it, adds it to another or sums lanes. Packing, unpacking, layout conversion, the ordered reduction are made of it.
// Leaves to units/move how they become vector instructions.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/tile/element.h"
#include "cubejit/post_ops.h"

namespace cubejit {

enum class MoveKind : std::uint8_t {
  kCopy,        ///< dst[r][c] = src[r][c]
  kTranspose,   ///< dst[c][r] = src[r][c]; dst rows are dstPitch apart
  kZero,        ///< dst[r][c] = 0
  kAccumulate,  ///< dst[r][c] = dst[r][c] + src[r][c]
  kLaneSums     ///< dst[r] = sum of src[r][0 .. lanes), in the order of laneSum(); dst is one row, cols is lanes
};

/// The order in which kLaneSums adds the lanes of a vector: within blocks of four (l0 + l2) + (l1 + l3), then the blocks:
/// b0 + b1 (8 lanes), (b0 + b1) + (b2 + b3) (16 lanes).
inline float laneSum(const float* lane, int lanes) {
  float block[4] = {};
  for (int b = 0; b < lanes / 4; ++b) block[b] = (lane[4 * b] + lane[4 * b + 2]) + (lane[4 * b + 1] + lane[4 * b + 3]);
  if (lanes == 4) return block[0];
  return lanes == 8 ? block[0] + block[1] : (block[0] + block[1]) + (block[2] + block[3]);
}

/// One distinct move. Columns of the source are contiguous; so are columns of the destination matrix.
/// For kTranspose the destination matrix has `cols` rows of `rows` contiguous elements, `padCols` more written as zero.
/// A matrix without rows or columns is nothing to move, and has no padding.
///
/// Copies and transposes turn elements of type `from` into type `to`; sizes of rows and of padding are those of the type
/// on that side. Equal types keep every bit. The other kinds know f32 only.
///
/// With `post`, a copy of f32, or zeros: each element becomes post(element) before it is rounded to `to`, as in contract.h. Its bias is the
/// f32 at D + r * biasRow + c * biasColumn; where columns differ, whole vectors are read, whatever is left of a row. D is the same in all repetitions.
///
/// With `backward`, a copy of one row, the other way: D leads to a row of what the activation of `post` gave, elements of type `result`, and
/// each element there becomes what it is times the activation's slope, 0 where that is 0 (post_ops.h), rounded to `to`.
struct Move {
  MoveKind kind = MoveKind::kCopy;
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;          ///< of the source matrix
  std::int64_t srcPitch = 0, dstPitch = 0;  ///< bytes between rows of the source, of the destination
  std::int64_t padCols = 0;                 ///< kCopy: this many zero elements written after each destination row.
                                            ///< kTranspose: the same, after each destination row of `rows` elements
  bool streamingStore = false;
  std::string label;
  int prefetchAhead = 0;  ///< ask for the source of the repetition this far ahead (0: the hardware foresees it)
  Element from = Element::kF32, to = Element::kF32;
  std::int64_t pairPitch =
      0;  ///< from = kPair: bytes from the first member to the second; 0 = the second is missing (zero)
  std::int64_t pairsCut = 0;  ///< the last so many rows (kTranspose: columns) of the source have no second member
  bool listed = false;
  std::int64_t aOuterStep = 0, cOuterStep = 0;  ///< listed only
  PostOps post{};
  std::int64_t biasRow = 0, biasColumn = 0;  ///< bytes; a column's are 0 or 4
  bool backward = false;
  Element result = Element::kF32;
  friend bool operator==(const Move& x, const Move& y) {
    return x.kind == y.kind && x.lanes == y.lanes && x.rows == y.rows && x.cols == y.cols && x.srcPitch == y.srcPitch &&
           x.dstPitch == y.dstPitch && x.padCols == y.padCols && x.streamingStore == y.streamingStore &&
           x.prefetchAhead == y.prefetchAhead && x.from == y.from && x.to == y.to && x.pairPitch == y.pairPitch &&
           x.pairsCut == y.pairsCut && x.listed == y.listed && x.aOuterStep == y.aOuterStep &&
           x.cOuterStep == y.cOuterStep && x.post == y.post && x.biasRow == y.biasRow && x.biasColumn == y.biasColumn &&
           x.backward == y.backward && x.result == y.result;
  }
};

}  // namespace cubejit
