// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the matrices of tile instructions look like in memory.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/tile/program.h"

namespace cubejit {

/// `lines` of contiguous elements, `pitch` bytes apart.
struct MatrixLines {
  std::int64_t lines = 0, columns = 0, pitch = 0, element = 4;
  bool empty() const { return lines <= 0 || columns <= 0; }
  std::int64_t lineBytes() const { return columns * element; }
};

/// The matrix that an instruction reads through A. Pairs and quads are read at their first members; see furtherMembers().
MatrixLines sourceOf(const OneOf<Copy, Transpose> auto& m) {
  return {m.rows, m.cols, m.srcPitch, elementBytes(m.from)};
}
inline MatrixLines sourceOf(const Fill&) { return {}; }
inline MatrixLines sourceOf(const Accumulate& m) { return {m.rows, m.cols, m.srcPitch, 4}; }
inline MatrixLines sourceOf(const LaneReduce& m) { return {m.rows, m.lanes, m.srcPitch, 4}; }
inline MatrixLines sourceOf(const Map& m) { return {m.zeros ? 0 : m.rows, m.cols, m.srcPitch, elementBytes(m.from)}; }

/// The one that it writes through C, with its padding. A pair or quad becomes one 32-bit word.
inline MatrixLines targetOf(const Copy& m) { return {m.rows, m.cols + m.padCols, m.dstPitch, elementBytes(m.to)}; }
inline MatrixLines targetOf(const Map& m) {
  if (m.combine != Combine::kNone) return {m.cols > 0 ? m.rows : 0, m.lanes, m.dstPitch, 4};
  return {m.rows, m.cols + m.padCols, m.dstPitch, elementBytes(m.to)};
}
inline MatrixLines targetOf(const Transpose& m) { return {m.cols, m.rows + m.padCols, m.dstPitch, elementBytes(m.to)}; }
inline MatrixLines targetOf(const Fill& m) { return {m.rows, m.cols, m.dstPitch, elementBytes(m.element)}; }
inline MatrixLines targetOf(const Accumulate& m) { return {m.rows, m.cols, m.dstPitch, 4}; }
inline MatrixLines targetOf(const LaneReduce& m) { return {1, m.rows, 0, 4}; }

/// How many members of a word are read beside the first one.
int furtherMembers(const OneOf<Copy, Transpose> auto& m) {
  return m.pairPitch == 0 ? 0 : m.from == Element::kQuad ? 3 : 1;
}
/// Those that are read `member` pitches of pairs behind the source's.
inline MatrixLines membersBehind(const Copy& m, int member) {
  const std::int64_t cut = m.from != Element::kQuad ? m.pairsCut : member + m.pairsCut >= 4 ? 1 : 0;
  return {m.rows - cut, m.cols, m.srcPitch, elementBytes(m.from)};
}
inline MatrixLines membersBehind(const Transpose& m, int /*member*/) {
  return {m.rows, m.cols - m.pairsCut, m.srcPitch, elementBytes(m.from)};
}

/// The steps of the list that it takes, if it takes one.
std::optional<ListSteps> listSteps(const OneOf<Copy, Transpose, Fill, Accumulate> auto& m) { return m.list; }
std::optional<ListSteps> listSteps(const OneOf<LaneReduce, Map> auto&) { return std::nullopt; }

}  // namespace cubejit
