// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how transposes become vector ops: blocks of vectors, then the tails, in an order that keeps lines of memory in L1.
// Leaves the shuffles of one block to transpose_block, few rows with a dense destination to interleave.
#include <algorithm>
#include <numeric>
#include <optional>

#include "codegen/units/element_code.h"
#include "codegen/units/interleave.h"
#include "codegen/units/matrix_code.h"
#include "codegen/units/transpose_block.h"
#include "codegen/units/units.h"

namespace cubejit {
namespace {

// Turning one row or column is a copy.
std::optional<Copy> asCopy(const Transpose& m) {
  const std::int64_t in = elementBytes(m.from), out = elementBytes(m.to);
  const bool denseRow = m.rows == 1 && m.dstPitch == out && m.padCols == 0,
             denseColumn = m.cols == 1 && m.srcPitch == in;
  if (m.pairsCut > 0 || !(denseRow || denseColumn)) return std::nullopt;
  return Copy{.lanes = m.lanes,
              .rows = 1,
              .cols = denseRow ? m.cols : m.rows,
              .padCols = m.padCols,
              .from = m.from,
              .to = m.to,
              .pairPitch = m.pairPitch,
              .prefetchAhead = m.prefetchAhead,
              .list = m.list,
              .label = m.label};
}

class TransposeCode {
 public:
  TransposeCode(const Transpose& transpose, const HostIsa& isa)
      : m_(transpose), code_(m_.label, m_.lanes, isa), elements_(code_.a, m_.from, m_.to, m_.pairPitch) {
    if (Interleave::applies(m_, isa)) interleave_.emplace(code_.a, isa, m_);
  }

  VectorProgram run() {
    return code_.run(
        m_.list,
        [&] {
          reserveMasks();
          if (interleave_) interleave_->loadTables();
        },
        [&] {
          code_.prefetch(m_);
          if (m_.rows == 0 || m_.cols == 0) return;
          if (m_.pairsCut > 0 && m_.pairPitch != 0)
            cutPairs();
          else if (interleave_)
            interleaveAll();
          else
            all();
        });
  }

 private:
  using enum MatrixCode::Scalar;

  std::int64_t in() const { return elements_.sourceBytes(); }
  std::int64_t out() const { return elements_.targetBytes(); }

  void reserveMasks() {
    std::vector<std::int64_t> counts{m_.cols, m_.rows, m_.padCols, m_.rows + m_.padCols};
    if (columnsOutside()) counts.insert(counts.end(), {columnsOfBand(), m_.cols % columnsOfBand()});
    if (interleave_)
      counts.insert(counts.end(), {interleave_->lanesOf(m_.lanes), interleave_->lanesOf(m_.cols % m_.lanes)});
    code_.reserveMasks(counts);
  }

  // Whole pairs first, then the columns whose second members are missing.
  void cutPairs() {
    const std::int64_t whole = m_.cols - m_.pairsCut;
    m_.cols = whole;
    if (whole > 0) all();
    code_.pointToMatrix();
    code_.a.addImm(kRowSrc, kRowSrc, whole * in());
    code_.a.addImm(kRowDst, kRowDst, whole * m_.dstPitch);
    m_.cols = m_.pairsCut;
    elements_.dropMembers(1);
    all();
  }

  // A few rows into a dense destination.
  void interleaveAll() {
    const std::int64_t n = m_.lanes;
    code_.repeat(kBlocks, m_.cols / n, kRowSrc, n * in(), kRowDst, n * m_.dstPitch,
                 [&] { interleave_->block(kRowSrc, kRowDst, n); });
    const std::int64_t left = m_.cols % n;
    if (left == 0) return;
    if (in() == 4) return interleave_->block(kRowSrc, kRowDst, left);
    code_.a.addImm(kRowSrc, kRowSrc, (left - n) * in());
    code_.a.addImm(kRowDst, kRowDst, (left - n) * m_.dstPitch);
    interleave_->block(kRowSrc, kRowDst, n);
  }

  void all() {
    if (columnsOutside()) return columnBands();
    const std::int64_t n = m_.lanes, rowBlocks = m_.rows / n, rowTail = m_.rows % n;
    // Padding that starts behind the last whole row block is written with an (otherwise empty) tail block.
    code_.repeat(kRows, rowBlocks, kRowSrc, n * m_.srcPitch, kRowDst, n * out(), [&] { rowBand(n, n); });
    const std::int64_t firstPad = std::min(n, rowTail + m_.padCols);
    if (rowTail > 0) {
      rowBand(rowTail, firstPad);
      padRows(n, m_.padCols - (firstPad - rowTail));
    } else {
      padRows(0, m_.padCols);
    }
  }

  // A block writes parts of lines, and the next one along the destination's rows writes the rest: until then they must stay in L1. If
  // rows are so far apart that too many of their lines share a set, a band of few rows is written from its beginning to its end.
  bool columnsOutside() const {
    return m_.padCols == 0 && m_.dstPitch > m_.srcPitch && m_.rows > m_.lanes &&
           m_.cols > std::max<std::int64_t>(m_.lanes, kLinesOfSet * setsOfRows());
  }
  std::int64_t columnsOfBand() const { return std::min<std::int64_t>(m_.lanes, kLinesOfSet * setsOfRows()); }
  // Sets of L1 that one column of destination rows lies in.
  std::int64_t setsOfRows() const { return kBytesOfSets / std::gcd(m_.dstPitch, kBytesOfSets); }

  void columnBands() {
    const std::int64_t n = columnsOfBand();
    code_.repeat(kRows, m_.cols / n, kRowSrc, n * in(), kRowDst, n * m_.dstPitch, [&] { columnBand(n); });
    if (m_.cols % n != 0) columnBand(m_.cols % n);
  }

  void pointToBand() {
    code_.a.copy(kBlockSrc, kRowSrc);
    code_.a.copy(kBlockDst, kRowDst);
  }

  // All rows of `cols` source columns.
  void columnBand(std::int64_t cols) {
    const std::int64_t n = m_.lanes;
    pointToBand();
    code_.repeat(kBlocks, m_.rows / n, kBlockSrc, n * m_.srcPitch, kBlockDst, n * out(), [&] { block(n, cols, n); });
    if (m_.rows % n != 0) block(m_.rows % n, cols, m_.rows % n);
  }

  // All columns of `rows` source rows.
  void rowBand(std::int64_t rows, std::int64_t storeLanes) {
    const std::int64_t n = m_.lanes;
    pointToBand();
    code_.repeat(kBlocks, m_.cols / n, kBlockSrc, n * in(), kBlockDst, n * m_.dstPitch,
                 [&] { block(rows, n, storeLanes); });
    if (m_.cols % n != 0) block(rows, m_.cols % n, storeLanes);
  }

  // Rows on pages of their own that go on for a while: no prefetcher follows so many streams.
  std::int64_t prefetchAhead() const { return m_.srcPitch >= 4096 && m_.cols >= 4 * m_.lanes ? 128 : 0; }

  void block(std::int64_t rows, std::int64_t cols, std::int64_t storeLanes) {
    transposeBlock(
        code_.a,
        TransposeBlock{m_.lanes, kBlockSrc, kBlockDst, kWalk, m_.srcPitch, m_.dstPitch, static_cast<int>(rows),
                       static_cast<int>(cols), prefetchAhead(), static_cast<int>(storeLanes)},
        elements_);
  }

  // Zeros from lane `from` of the current band on, in each of the `cols` destination rows.
  void padRows(std::int64_t from, std::int64_t count) {
    if (count <= 0) return;
    code_.a.copy(kBlockDst, kRowDst);
    code_.a.addImm(kBlockDst, kBlockDst, from * out());
    code_.a.zero(0);
    code_.repeat(kBlocks, m_.cols, kBlockSrc, 0, kBlockDst, m_.dstPitch, [&] {
      for (std::int64_t at = 0; at < count; at += m_.lanes)
        code_.storeZeros(0, out(), {kBlockDst, at * out()}, code_.lanesOf(count - at));
    });
  }

  // L1 of every x86-64 core has 64 sets of lines of 64 bytes; sets have 8 lines on Zen 4, 12 on Zen 5.
  static constexpr std::int64_t kBytesOfSets = 4096, kLinesOfSet = 8;

  Transpose m_;
  MatrixCode code_;
  ElementCode elements_;
  std::optional<Interleave> interleave_;
};

}  // namespace

Result<VectorProgram> unitCode(const Transpose& transpose, const HostIsa& isa) {
  if (const auto copy = asCopy(transpose)) return unitCode(*copy, isa);
  return TransposeCode(transpose, isa).run();
}

}  // namespace cubejit
