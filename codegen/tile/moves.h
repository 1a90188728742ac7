// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the tile instructions that move data mean: each reads one matrix and writes one. Packing, unpacking, layout conversion and
// the ordered reduction are made of them. Leaves to units/ how they become vector instructions; map.h has one that computes, too.
//
// Columns of a matrix are contiguous in memory, rows a pitch apart, in bytes; src is what A points to, dst what C points to. A matrix
// without rows or columns is nothing to move, and has no padding. With `list`, a call moves the matrix once for each repetition of each
// segment of its list: the first at the segment's offsets of A and (as B's) of C, the next ones the list's steps further on.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/tile/combine.h"
#include "codegen/tile/element.h"
#include "codegen/tile/label.h"
#include "codegen/tile/overloaded.h"

namespace cubejit {

/// Bytes from one repetition of a segment to the next, through A and through C.
struct ListSteps {
  std::int64_t a = 0, c = 0;
  friend bool operator==(const ListSteps& x, const ListSteps& y) = default;
};

/// dst[r][c] = src[r][c], an element of type `from` turned into one of type `to`; equal types keep every bit.
struct Copy {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;  ///< of the source
  std::int64_t srcPitch = 0, dstPitch = 0;
  std::int64_t padCols = 0;  ///< this many zero elements written behind each row of the destination
  Element from = Element::kF32, to = Element::kF32;
  std::int64_t pairPitch =
      0;  ///< from = kPair or kQuad: bytes from a word's first member to the next; 0, of pairs: that is missing (zero)
  std::int64_t pairsCut = 0;  ///< kPair: the last so many rows have no second member; kQuad: the last row lacks so many
  bool streamingStore = false;
  int prefetchAhead = 0;  ///< ask for the source of the repetition this far ahead (0: the hardware foresees it)
  std::optional<ListSteps> list{};
  Label label{};
  friend bool operator==(const Copy& x, const Copy& y) = default;
};

/// dst[c][r] = src[r][c], with `cols` rows of `rows` elements in the destination; the rest as in Copy.
struct Transpose {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;
  std::int64_t srcPitch = 0, dstPitch = 0;
  std::int64_t padCols = 0;
  Element from = Element::kF32, to = Element::kF32;
  std::int64_t pairPitch = 0;
  std::int64_t pairsCut = 0;  ///< the last so many columns have no second member
  int prefetchAhead = 0;
  std::optional<ListSteps> list{};
  Label label{};
  friend bool operator==(const Transpose& x, const Transpose& y) = default;
};

/// dst[r][c] = 0.
struct Fill {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;
  std::int64_t dstPitch = 0;
  Element element = Element::kF32;  ///< kF32 or kHalf
  std::optional<ListSteps> list{};  ///< of which A's step means nothing
  Label label{};
  friend bool operator==(const Fill& x, const Fill& y) = default;
};

/// dst[r][c] += src[r][c], of f32.
struct Accumulate {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;
  std::int64_t srcPitch = 0, dstPitch = 0;
  std::optional<ListSteps> list{};
  Label label{};
  friend bool operator==(const Accumulate& x, const Accumulate& y) = default;
};

/// dst[r] = lanesCombined() of the vector src[r], of f32.
struct LaneReduce {
  int lanes = 16;
  std::int64_t rows = 0;
  std::int64_t srcPitch = 0;
  Combine combine = Combine::kSum;  ///< not kNone
  Label label{};
  friend bool operator==(const LaneReduce& x, const LaneReduce& y) = default;
};

/// What a copy does, with rows and columns of the destination exchanged. Precondition: it does not stream.
inline Transpose turned(const Copy& m) {
  return {m.lanes, m.rows,      m.cols,     m.srcPitch,      m.dstPitch, m.padCols, m.from,
          m.to,    m.pairPitch, m.pairsCut, m.prefetchAhead, m.list,     m.label};
}

}  // namespace cubejit
