// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how copies become vector ops: elements of 8 and 16 bits that stay as they are by words, short rows of 16 bits several at a time, pairs
// without a second member and quads without all four behind those that have them.
#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/units/element_code.h"
#include "codegen/units/row_code.h"
#include "codegen/units/units.h"

namespace cubejit {
namespace {

constexpr std::int64_t kWordBytes = 4;

Copy simplest(Copy m) {
  if (m.pairsCut > 0) return m;  // rows are not alike
  if (rowsOf(m).dense()) m.cols *= std::exchange(m.rows, 1);
  const std::int64_t inWord = kWordBytes / elementBytes(m.from);
  if (m.from == m.to && inWord > 1 && m.cols % inWord == 0 && m.padCols % inWord == 0) {
    m.from = m.to = Element::kF32;
    m.cols /= inWord;
    m.padCols /= inWord;
  }
  return m;
}

// Rows of few 16-bit words which follow each other in the target, padding and all: a load, a permute and a store for several. Needs the
// ISA's permutes of words, which every ISA with dot products has.
class ShortRows {
 public:
  ShortRows(MatrixCode& code, const Copy& m, const HostIsa& isa) : code_(code), m_(m) {
    const std::int64_t vector = std::int64_t{isa.lanes()} * 4, row = (m.cols + m.padCols) * kWord;
    const bool fits = isa.bf16Dot && isa.lanes() == m.lanes && m.from == m.to && elementBytes(m.from) == kWord &&
                      m.dstPitch == row && row % 4 == 0 && 2 * row <= vector && m.srcPitch > 0 &&
                      m.srcPitch % kWord == 0 && m.pairsCut == 0 && !m.streamingStore;
    if (!fits) return;
    const std::int64_t together = std::min(vector / row, (vector - m.cols * kWord) / m.srcPitch + 1);
    if (together < 2) return;
    const std::int64_t span = (together - 1) * m.srcPitch + m.cols * kWord;
    // Words are loaded two at a time: the last rows are left alone if that reads one behind them.
    vectors_ = (m.rows - (span % 4 != 0 ? 1 : 0)) / together;
    together_ = together;
    read_ = code.lanesOf((span + 3) / 4);
    written_ = code.lanesOf(together * row / 4);
  }

  /// How many rows are taken so; 0 if they are not short.
  std::int64_t rows() const { return vectors_ * together_; }

  void prepare() {
    if (rows() == 0) return;
    code_.a.reserveMasks({read_, written_});
    const std::int64_t row = m_.dstPitch / kWord, lanes = m_.lanes;
    std::vector<std::int32_t> table;
    for (std::int64_t i = 0; i < 2 * lanes; i += 2)
      table.push_back(static_cast<std::int32_t>(indexOf(i, row) | indexOf(i + 1, row) << 16));
    code_.a.constant(kTable, code_.a.addConstant(std::move(table)));
    code_.a.zero(kZeros);
  }

  void emit() {
    constexpr std::int64_t kUnroll = 4;
    const auto step = [&](std::int64_t count) {
      return std::pair(count * together_ * m_.srcPitch, count * together_ * m_.dstPitch);
    };
    for (const auto& [count, times] : {std::pair(kUnroll, vectors_ / kUnroll), {std::int64_t{1}, vectors_ % kUnroll}}) {
      code_.repeat(MatrixCode::kRows, times, MatrixCode::kRowSrc, step(count).first, MatrixCode::kRowDst,
                   step(count).second, [&, count = count] {
                     for (std::int64_t i = 0; i < count; ++i) {
                       const int r = code_.next();
                       code_.a.load(r, MatrixCode::kRowSrc, step(i).first, read_);
                       code_.a.permuteWords2(r, kTable, r, kZeros);
                       code_.a.store(r, MatrixCode::kRowDst, step(i).second, written_);
                     }
                   });
    }
  }

 private:
  static constexpr std::int64_t kWord = 2;
  static constexpr int kTable = MatrixCode::kBehindScratch, kZeros = kTable + 1;

  // Which word of the loaded vector, or of the zeros behind it, word `i` of a stored vector is.
  std::uint32_t indexOf(std::int64_t i, std::int64_t row) const {
    const bool exists = i / row < together_ && i % row < m_.cols;
    return static_cast<std::uint32_t>(exists ? i / row * (m_.srcPitch / kWord) + i % row : 2 * m_.lanes);
  }

  MatrixCode& code_;
  const Copy& m_;
  std::int64_t together_ = 0, vectors_ = 0;
  LaneRange read_, written_;
};

}  // namespace

Result<VectorProgram> unitCode(const Copy& copy, const HostIsa& isa) {
  const Copy m = simplest(copy);
  MatrixCode code(m.label, m.lanes, isa);
  ElementCode elements(code.a, m.from, m.to, m.pairPitch);
  RowCode rows(code, [&](MatrixCode::At src, MatrixCode::At dst, auto, LaneRange exist, LaneRange stored) {
    const int r = code.next();
    elements.load(r, code.pairTemporary(), src.base, src.disp, exist);
    if (m.streamingStore && exist.all())
      code.a.storeStream(r, dst.base, dst.disp);
    else
      elements.store(r, MatrixCode::scratch(), dst.base, dst.disp, stored);
  });
  Rows all = rowsOf(m);
  all.padsAtOnce = true;
  ShortRows shortRows(code, m, isa);
  return code.run(
      m.list,
      [&] {
        rows.reserveMasks(all);
        shortRows.prepare();
      },
      [&] {
        code.prefetch(m);
        if (shortRows.rows() > 0) {
          shortRows.emit();
          return rows.all(all.some(m.rows - shortRows.rows()));
        }
        if (m.pairsCut == 0 || m.pairPitch == 0) return rows.all(all);
        const std::int64_t cut = m.from == Element::kQuad ? 1 : m.pairsCut, whole = m.rows - cut;
        if (whole > 0) rows.all(all.some(whole));
        code.pointToMatrix();
        code.a.addImm(MatrixCode::kRowSrc, MatrixCode::kRowSrc, whole * m.srcPitch);
        code.a.addImm(MatrixCode::kRowDst, MatrixCode::kRowDst, whole * m.dstPitch);
        elements.dropMembers(m.pairsCut);
        rows.all(all.some(cut));
      });
}

}  // namespace cubejit
