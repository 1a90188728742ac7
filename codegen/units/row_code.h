// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how matrices are gone through row by row: loops over whole vectors, then what is left of a row, then its padding.
// Leaves what is done with a vector to the instructions.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "codegen/tile/matrix.h"
#include "codegen/units/matrix_code.h"

namespace cubejit {

struct Rows {
  int lanes = 16;
  std::int64_t rows = 0, cols = 0;
  std::int64_t srcPitch = 0, dstPitch = 0;
  std::int64_t in = 4, out = 4;  ///< bytes of an element of the source, of the destination
  std::int64_t padCols = 0;
  bool padsAtOnce = false;  ///< vectors are zero in lanes that do not exist: padding can be stored with them
  /// What is read beside the source, through D and through B: bytes from row to row, element to element.
  struct Beside {
    bool read = false;
    std::int64_t row = 0, column = 0;
  };
  std::array<Beside, 2> beside{};

  bool dense() const { return dstPitch == cols * out && padCols == 0 && srcPitch == cols * in; }
  /// The first, or the last, so many of its rows; one if they follow each other.
  Rows some(std::int64_t count) const {
    Rows part = *this;
    part.rows = dense() ? 1 : count;
    part.cols = dense() ? cols * count : cols;
    return part;
  }
};
Rows rowsOf(const OneOf<Copy, Fill, Accumulate, Map> auto& m) {
  const MatrixLines from = sourceOf(m), to = targetOf(m);
  return {.lanes = m.lanes,
          .rows = m.rows,
          .cols = m.cols,
          .srcPitch = from.pitch,
          .dstPitch = to.pitch,
          .in = from.element,
          .out = to.element,
          .padCols = to.columns - m.cols};
}

class RowCode {
 public:
  using Scalar = MatrixCode::Scalar;
  using At = MatrixCode::At;
  /// Where elements of D and B lie that belong to those of a source.
  using Beside = std::array<At, 2>;
  /// One vector: of the lanes that exist in the source, and those to store.
  using VectorCode = std::function<void(At src, At dst, const Beside& beside, LaneRange exist, LaneRange stored)>;

  /// What stands before and behind the vectors of a row, which begins at dst, and at `beside`.
  using RowEdge = std::function<void(At dst, const Beside& beside)>;

  RowCode(MatrixCode& code, VectorCode vector) : code_(code), vector_(std::move(vector)) {}
  RowCode(MatrixCode& code, RowEdge begin, VectorCode vector, RowEdge end)
      : code_(code), vector_(std::move(vector)), begin_(std::move(begin)), end_(std::move(end)) {}

  VectorProgram run(const std::optional<ListSteps>& list, const Rows& m) {
    return code_.run(list, [&] { reserveMasks(m); }, [&] { all(m); });
  }
  void reserveMasks(const Rows& m) { code_.reserveMasks({m.cols, m.rows, m.padCols, m.cols + m.padCols}); }

  /// From where the row cursors are.
  void all(const Rows& m) {
    if (m.rows <= 0 || m.cols <= 0) return;
    for (std::size_t o = 0; o < kCursors.size(); ++o) {
      if (m.beside[o].read) code_.a.arg(kCursors[o], kSlots[o]);
    }
    const std::int64_t vectors = m.cols / m.lanes, perRow = vectors + 2;
    std::int64_t unroll = std::clamp<std::int64_t>(12 / std::max<std::int64_t>(1, perRow), 1, m.rows);
    if (m.srcPitch * unroll > kReach || m.dstPitch * unroll > kReach) unroll = 1;
    const bool far = vectors > kUnrolledVectors;
    const auto rows = [&](std::int64_t count) {
      for (std::int64_t r = 0; r < count; ++r) {
        const At dst{kRowDst, r * m.dstPitch};
        const Beside beside{At{kCursors[0], r * m.beside[0].row}, At{kCursors[1], r * m.beside[1].row}};
        if (begin_) begin_(dst, beside);
        far ? longRow(m) : row(m, {kRowSrc, r * m.srcPitch}, dst, beside);
        if (end_) end_(dst, beside);
      }
      step(m, count, &Rows::Beside::row);
    };
    code_.repeat(kRows, m.rows / unroll, kRowSrc, unroll * m.srcPitch, kRowDst, unroll * m.dstPitch,
                 [&] { rows(unroll); });
    rows(m.rows % unroll);
  }

 private:
  using enum MatrixCode::Scalar;
  static constexpr std::array<Scalar, 2> kCursors{MatrixCode::kRowD, MatrixCode::kRowB};
  static constexpr std::array<ArgSlot, 2> kSlots{ArgSlot::kD, ArgSlot::kB};
  static constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / 2, kUnrolledVectors = 16;

  // Moves the cursors beside the source on by so many rows, or elements.
  void step(const Rows& m, std::int64_t count, std::int64_t Rows::Beside::* each) {
    for (std::size_t o = 0; o < kCursors.size(); ++o) {
      if (m.beside[o].read) code_.a.addImm(kCursors[o], kCursors[o], count * (m.beside[o].*each));
    }
  }
  static Beside columns(const Rows& m, Beside beside, std::int64_t count) {
    for (std::size_t o = 0; o < beside.size(); ++o) beside[o].disp += count * m.beside[o].column;
    return beside;
  }

  void row(const Rows& m, At src, At dst, const Beside& beside) {
    const std::int64_t whole = m.cols / m.lanes;
    vectors(m, src, dst, beside, whole);
    const std::int64_t c = whole * m.lanes;
    src.disp += c * m.in;
    dst.disp += c * m.out;
    tail(m, src, dst, columns(m, beside, c), m.cols - c);
  }

  void vectors(const Rows& m, const At& src, const At& dst, const Beside& beside, std::int64_t count) {
    for (std::int64_t c = 0; c < count * m.lanes; c += m.lanes)
      vector_({src.base, src.disp + c * m.in}, {dst.base, dst.disp + c * m.out}, columns(m, beside, c), {}, {});
  }

  // The vectors of a row eight at a time: the row's cursors go there, and come back.
  void longRow(const Rows& m) {
    const std::int64_t eight = 8 * m.lanes, count = m.cols / eight;
    const Beside beside{At{kCursors[0], 0}, At{kCursors[1], 0}};
    code_.repeat(kBlocks, count, kRowSrc, eight * m.in, kRowDst, eight * m.out, [&] {
      vectors(m, {kRowSrc, 0}, {kRowDst, 0}, beside, 8);
      step(m, eight, &Rows::Beside::column);
    });
    Rows rest = m;
    rest.cols = m.cols - count * eight;
    row(rest, {kRowSrc, 0}, {kRowDst, 0}, beside);
    code_.a.addImm(kRowSrc, kRowSrc, -count * eight * m.in);
    code_.a.addImm(kRowDst, kRowDst, -count * eight * m.out);
    step(m, -count * eight, &Rows::Beside::column);
  }

  // What is left of a row: `count` elements (fewer than a vector), then the padding.
  void tail(const Rows& m, const At& src, const At& dst, const Beside& beside, std::int64_t count) {
    std::int64_t written = 0;
    const std::int64_t all = count + m.padCols;
    if (count > 0) {
      written = m.padsAtOnce ? std::min<std::int64_t>(m.lanes, all) : count;
      vector_(src, dst, beside, code_.lanesOf(count), code_.lanesOf(written));
    }
    for (; written < all; written += m.lanes) {
      const int r = code_.next();
      code_.a.zero(r);
      code_.storeZeros(r, m.out, {dst.base, dst.disp + written * m.out}, code_.lanesOf(all - written));
    }
  }

  MatrixCode& code_;
  const VectorCode vector_;
  const RowEdge begin_, end_;
};

}  // namespace cubejit
