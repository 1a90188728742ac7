// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how moves become vector ops: loops over whole blocks, then the tails, with masks for what is narrower than a vector.
// Leaves the shuffles of one block to units/transpose.
#include "codegen/units/move.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "codegen/units/assembler.h"
#include "codegen/units/element_code.h"
#include "codegen/units/interleave.h"
#include "codegen/units/lane_sums.h"
#include "codegen/units/post_code.h"
#include "codegen/units/transpose.h"

namespace cubejit {
namespace {

enum Scalar { kSrc, kDst, kRepeat, kRowSrc, kRowDst, kRows, kBlockSrc, kBlockDst, kBlocks, kWalk, kFlag, kList };
constexpr Scalar kSegments = kFlag;  // a move with a list has no repetitions to step to
// Nor has it post-ops; where there are some nothing is transposed.
constexpr Scalar kRowD = kList, kBlockD = kWalk;

// The same move with as few rows as it can be said in: dense matrices are one row, and turning one row or column is a copy.
Move simplest(Move m) {
  if (m.post.any() || m.backward) return m;
  const std::int64_t in = elementBytes(m.from), out = elementBytes(m.to);
  const bool denseRow = m.rows == 1 && m.dstPitch == out && m.padCols == 0,
             denseColumn = m.cols == 1 && m.srcPitch == in;
  if (m.pairsCut == 0 && m.kind == MoveKind::kTranspose && (denseRow || denseColumn)) {
    m.kind = MoveKind::kCopy;
    if (!denseRow) std::swap(m.rows, m.cols);
    m.srcPitch = m.dstPitch = 0;  // there is one row
  }
  if (m.pairsCut > 0) return m;  // rows are not alike
  const bool dense =
      m.dstPitch == m.cols * out && m.padCols == 0 && (m.srcPitch == m.cols * in || m.kind == MoveKind::kZero);
  if (m.kind != MoveKind::kTranspose && m.kind != MoveKind::kLaneSums && dense) {
    m.cols *= m.rows;
    m.rows = 1;
  }
  // 16-bit words that stay as they are go two at a time.
  if (m.kind == MoveKind::kCopy && m.from == m.to && in == 2 && m.cols % 2 == 0 && m.padCols % 2 == 0) {
    m.from = m.to = Element::kF32;
    m.cols /= 2;
    m.padCols /= 2;
  }
  return m;
}

class Lowering {
 public:
  Lowering(const Move& move, const HostIsa& isa)
      : m_(simplest(move)),
        isa_(isa),
        a_(move.label, isa),
        elements_(a_, m_.from, m_.to, m_.pairPitch),
        post_(a_, m_.post, m_.to, m_.biasColumn == 0),
        values_(a_, m_.from, Element::kF32),
        results_(a_, m_.result, Element::kF32),
        sloped_(a_, Element::kF32, m_.to) {
    if (Interleave::applies(m_, isa_)) interleave_.emplace(a_, isa_, m_);
  }

  Result<VectorProgram> run() {
    m_.listed ? listArguments() : repeatArguments();
    reserveMasks(m_.rows, m_.cols);
    if (interleave_) interleave_->loadTables();
    m_.listed ? beginSegments() : a_.loop(kRepeat);
    a_.copy(kRowSrc, kSrc);
    a_.copy(kRowDst, kDst);
    prefetchNext();
    if (readsD()) a_.arg(kRowD, ArgSlot::kD);
    if (m_.rows > 0 && m_.cols > 0) {
      if (m_.pairsCut > 0 && m_.pairPitch != 0)
        cutPairs();
      else if (interleave_)
        interleaveAll();
      else if (m_.kind == MoveKind::kTranspose)
        transposeAll();
      else if (m_.kind == MoveKind::kLaneSums)
        sumAll();
      else
        copyAll();
    }
    m_.listed ? endSegments() : endRepeats();
    return a_.take();
  }

 private:
  void repeatArguments() {
    a_.arg(kSrc, ArgSlot::kA);
    a_.arg(kDst, ArgSlot::kC);
    a_.arg(kRepeat, ArgSlot::kRepeat);
  }
  void endRepeats() {
    a_.arg(kFlag, ArgSlot::kARepeat);
    a_.add(kSrc, kSrc, kFlag);
    a_.arg(kFlag, ArgSlot::kCRepeat);
    a_.add(kDst, kDst, kFlag);
    a_.endLoop();
  }

  // Segments of three words behind their count.
  void listArguments() {
    a_.arg(kList, ArgSlot::kList);
    a_.loadScalar(kSegments, kList, 0);
    a_.addImm(kList, kList, 8);
  }
  void beginSegments() {
    a_.loop(kSegments);
    a_.arg(kSrc, ArgSlot::kA);
    a_.addLoad(kSrc, kSrc, kList, 0);
    a_.arg(kDst, ArgSlot::kC);
    a_.addLoad(kDst, kDst, kList, 8);
    a_.loadScalar(kRepeat, kList, 16);
    a_.addImm(kList, kList, 24);
    a_.loop(kRepeat);
  }
  void endSegments() {
    a_.addImm(kSrc, kSrc, m_.aOuterStep);
    a_.addImm(kDst, kDst, m_.cOuterStep);
    a_.endLoop();
    a_.endLoop();
  }

  // Whole pairs first, then the elements whose second member is missing.
  void cutPairs() {
    const bool turned = m_.kind == MoveKind::kTranspose;
    if (!turned && m_.padCols == 0 && m_.srcPitch == m_.cols * in() && m_.dstPitch == m_.cols * out())
      return cutDensePairs();
    std::int64_t& count = turned ? m_.cols : m_.rows;
    const std::int64_t cut = m_.pairsCut, whole = count - cut;
    const auto all = [&] { turned ? transposeAll() : copyAll(); };
    count = whole;
    if (whole > 0) all();
    a_.copy(kRowSrc, kSrc);
    a_.copy(kRowDst, kDst);
    a_.addImm(kRowSrc, kRowSrc, whole * (turned ? in() : m_.srcPitch));
    a_.addImm(kRowDst, kRowDst, whole * m_.dstPitch);
    count = cut;
    elements_.dropSecond();
    all();
  }

  // Rows that follow each other are two: one of pairs, one of single elements.
  void cutDensePairs() {
    const std::int64_t whole = (m_.rows - m_.pairsCut) * m_.cols, cut = m_.pairsCut * m_.cols;
    m_.rows = 1;
    m_.cols = whole;
    if (whole > 0) copyAll();
    a_.copy(kRowSrc, kSrc);
    a_.copy(kRowDst, kDst);
    a_.addImm(kRowSrc, kRowSrc, whole * in());
    a_.addImm(kRowDst, kRowDst, whole * out());
    m_.cols = cut;
    elements_.dropSecond();
    copyAll();
  }

  // The lines of a later repetition's source. Rows that follow each other closely are one range.
  void prefetchNext() {
    if (m_.prefetchAhead <= 0) return;
    a_.copy(kWalk, kSrc);
    a_.arg(kFlag, ArgSlot::kARepeat);
    for (int i = 0; i < m_.prefetchAhead; ++i) a_.add(kWalk, kWalk, kFlag);
    const bool close = m_.srcPitch <= m_.cols * in() + 64;
    const std::int64_t rows = close ? 1 : m_.rows;
    const std::int64_t bytes = m_.cols * in() + (close ? (m_.rows - 1) * m_.srcPitch : 0);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t at = 0; at < bytes; at += 64) a_.prefetch(kWalk, r * m_.srcPitch + at);
    }
  }

  // A place in memory.
  struct At {
    Scalar base;
    std::int64_t disp;
  };

  LaneRange lanesOf(std::int64_t count) const { return lanesUpTo(count, m_.lanes); }

  void reserveMasks(std::int64_t rows, std::int64_t cols) {
    std::vector<LaneRange> ranges{lanesOf(cols % m_.lanes), lanesOf(rows % m_.lanes), lanesOf(m_.padCols % m_.lanes)};
    const std::int64_t live = m_.kind == MoveKind::kTranspose ? m_.rows : m_.cols;
    ranges.push_back(lanesOf((live + m_.padCols) % m_.lanes));
    if (columnsOutside()) {
      ranges.push_back(lanesOf(columnsOfBand()));
      ranges.push_back(lanesOf(cols % columnsOfBand()));
    }
    if (interleave_) {
      ranges.push_back(interleave_->lastStore(m_.lanes));
      ranges.push_back(interleave_->lastStore(m_.cols % m_.lanes));
    }
    for (LaneRange& r : ranges) {
      if (r.hi == 0) r = LaneRange{};
    }
    a_.reserveMasks(ranges);
  }

  // `count` iterations of `body`; the cursors advance by the given bytes.
  template <class Body>
  void repeat(Scalar counter, std::int64_t count, Scalar src, std::int64_t srcStep, Scalar dst, std::int64_t dstStep,
              Body body) {
    if (count <= 0) return;
    if (count > 1) {
      a_.set(counter, count);
      a_.loop(counter);
    }
    body();
    a_.addImm(src, src, srcStep);
    a_.addImm(dst, dst, dstStep);
    if (count > 1) a_.endLoop();
  }

  // Moves the cursor over d on.
  bool readsD() const { return m_.post.bias || m_.backward; }
  void stepD(Scalar cursor, std::int64_t bytes) {
    if (readsD()) a_.addImm(cursor, cursor, bytes);
  }

  // ---- copy, zero, accumulate: row by row ----
  void copyAll() {
    const std::int64_t vectors = m_.cols / m_.lanes, perRow = vectors + 2;
    std::int64_t unroll = std::clamp<std::int64_t>(12 / std::max<std::int64_t>(1, perRow), 1, m_.rows);
    if (m_.srcPitch * unroll > kReach || m_.dstPitch * unroll > kReach) unroll = 1;
    const auto rows = [&](std::int64_t count) {
      for (std::int64_t r = 0; r < count; ++r) copyRow(r * m_.srcPitch, r * m_.dstPitch, r * m_.biasRow);
      stepD(kRowD, count * m_.biasRow);
    };
    if (vectors > kUnrolledVectors) {
      repeat(kRows, m_.rows, kRowSrc, m_.srcPitch, kRowDst, m_.dstPitch, [&] {
        longRow();
        stepD(kRowD, m_.biasRow);
      });
      return;
    }
    repeat(kRows, m_.rows / unroll, kRowSrc, unroll * m_.srcPitch, kRowDst, unroll * m_.dstPitch,
           [&] { rows(unroll); });
    rows(m_.rows % unroll);
  }

  void copyRow(std::int64_t src, std::int64_t dst, std::int64_t bias) {
    std::int64_t c = 0;
    for (; c + m_.lanes <= m_.cols; c += m_.lanes)
      copyVector({kRowSrc, src + c * in()}, {kRowDst, dst + c * out()}, {kRowD, bias + c * columnOfD()}, {});
    tail({kRowSrc, src + c * in()}, {kRowDst, dst + c * out()}, {kRowD, bias + c * columnOfD()}, m_.cols - c);
  }

  void longRow() {
    const std::int64_t vectors = m_.cols / m_.lanes, read = m_.lanes * in(), written = m_.lanes * out();
    a_.copy(kBlockSrc, kRowSrc);
    a_.copy(kBlockDst, kRowDst);
    if (readsD()) a_.copy(kBlockD, kRowD);
    const std::int64_t biases = m_.lanes * columnOfD();
    const auto some = [&](std::int64_t count) {
      for (std::int64_t v = 0; v < count; ++v)
        copyVector({kBlockSrc, v * read}, {kBlockDst, v * written}, {kBlockD, v * biases}, {});
    };
    repeat(kBlocks, vectors / 8, kBlockSrc, 8 * read, kBlockDst, 8 * written, [&] {
      some(8);
      stepD(kBlockD, 8 * biases);
    });
    const std::int64_t left = vectors % 8;
    some(left);
    tail({kBlockSrc, left * read}, {kBlockDst, left * written}, {kBlockD, left * biases}, m_.cols % m_.lanes);
  }

  // What is left of a row: `count` elements (fewer than a vector), then the padding.
  void tail(At src, At dst, At bias, std::int64_t count) {
    std::int64_t written = 0;
    const std::int64_t all = count + m_.padCols;
    if (count > 0) {
      written = std::min<std::int64_t>(m_.lanes, all);
      if (m_.kind == MoveKind::kCopy && !post_.any() &&
          !m_.backward) {  // the masked load has zeros behind the elements: they are the padding
        const int r = next();
        elements_.load(r, pairTemporary(), src.base, src.disp, lanesOf(count));
        elements_.store(r, scratch(), dst.base, dst.disp, lanesOf(written));
      } else {
        written = count;
        copyVector(src, dst, bias, lanesOf(count));
      }
    }
    for (; written < all; written += m_.lanes) {
      const int r = next();
      a_.zero(r);
      storeZeros(r, dst.base, dst.disp + written * out(), lanesOf(all - written));
    }
  }

  std::int64_t columnOfD() const { return m_.backward ? elementBytes(m_.result) : m_.biasColumn; }

  void copyVector(At src, At dst, At bias, LaneRange lanes) {
    if (m_.backward) return slopeVector(src, dst, bias, lanes);
    const int r = next();
    if (m_.kind == MoveKind::kZero) {
      a_.zero(r);
    } else {
      elements_.load(r, pairTemporary(), src.base, src.disp, lanes);
    }
    if (m_.kind == MoveKind::kAccumulate) {
      const int old = next();
      a_.load(old, dst.base, dst.disp, lanes);
      a_.addF(r, old, r);
    }
    if (post_.any()) {
      if (post_.adds()) {
        a_.arg(kFlag, ArgSlot::kResidual);
        a_.add(kFlag, kFlag, dst.base);
      }
      post_.apply(r, pairTemporary(), bias.base, bias.disp, kFlag, dst.disp, lanes);
    }
    if (m_.streamingStore && lanes.all())
      a_.storeStream(r, dst.base, dst.disp);
    else
      elements_.store(r, scratch(), dst.base, dst.disp, lanes);
  }

  void slopeVector(At from, At to, At results, LaneRange lanes) {
    const int r = next();
    values_.load(r, -1, from.base, from.disp, lanes);
    results_.load(kResults, -1, results.base, results.disp, lanes);
    post_.backward(r, kResults, scratch(), kResults + 1);
    sloped_.store(r, scratch(), to.base, to.disp, lanes);
  }

  void storeZeros(int zero, Scalar base, std::int64_t disp, LaneRange lanes) {
    if (out() == 2)
      a_.storeNarrow(VOp::kStoreHalf, zero, base, disp, lanes);
    else
      a_.store(zero, base, disp, lanes);
  }

  std::int64_t in() const { return elements_.sourceBytes(); }
  std::int64_t out() const { return elements_.targetBytes(); }

  // Registers 0 .. 7 take turns for data, those behind them are for conversions.
  int next() { return next_++ % kDataRegisters; }
  int pairTemporary() { return kDataRegisters + next_ % 2; }
  static NarrowScratch scratch() { return {kDataRegisters, kDataRegisters + 1, kDataRegisters + 2}; }

  // ---- sums across lanes: a vector of sums at a time ----
  void sumAll() {
    const std::int64_t n = m_.lanes;
    const auto block = [&](std::int64_t rows) {
      laneSums(a_, LaneSumBlock{m_.lanes, kRowSrc, kRowDst, m_.srcPitch, static_cast<int>(rows)});
    };
    repeat(kRows, m_.rows / n, kRowSrc, n * m_.srcPitch, kRowDst, n * 4, [&] { block(n); });
    if (m_.rows % n != 0) block(m_.rows % n);
  }

  // ---- transpose of a few rows into a dense destination ----
  void interleaveAll() {
    const std::int64_t n = m_.lanes;
    repeat(kBlocks, m_.cols / n, kRowSrc, n * 4, kRowDst, n * m_.dstPitch,
           [&] { interleave_->block(kRowSrc, kRowDst, n); });
    if (m_.cols % n != 0) interleave_->block(kRowSrc, kRowDst, m_.cols % n);
  }

  // ---- transpose: blocks of lanes x lanes ----
  void transposeAll() {
    if (columnsOutside()) return transposeColumns();
    const std::int64_t n = m_.lanes, rowBlocks = m_.rows / n, rowTail = m_.rows % n;
    // Padding that starts behind the last whole row block is written with an (otherwise empty) tail block.
    repeat(kRows, rowBlocks, kRowSrc, n * m_.srcPitch, kRowDst, n * out(), [&] { rowBand(n, n); });
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

  void transposeColumns() {
    const std::int64_t n = columnsOfBand();
    repeat(kRows, m_.cols / n, kRowSrc, n * in(), kRowDst, n * m_.dstPitch, [&] { columnBand(n); });
    if (m_.cols % n != 0) columnBand(m_.cols % n);
  }

  // All rows of `cols` source columns.
  void columnBand(std::int64_t cols) {
    const std::int64_t n = m_.lanes;
    a_.copy(kBlockSrc, kRowSrc);
    a_.copy(kBlockDst, kRowDst);
    repeat(kBlocks, m_.rows / n, kBlockSrc, n * m_.srcPitch, kBlockDst, n * out(), [&] { block(n, cols, n); });
    if (m_.rows % n != 0) block(m_.rows % n, cols, m_.rows % n);
  }

  // All columns of `rows` source rows.
  void rowBand(std::int64_t rows, std::int64_t storeLanes) {
    const std::int64_t n = m_.lanes;
    a_.copy(kBlockSrc, kRowSrc);
    a_.copy(kBlockDst, kRowDst);
    repeat(kBlocks, m_.cols / n, kBlockSrc, n * in(), kBlockDst, n * m_.dstPitch, [&] { block(rows, n, storeLanes); });
    if (m_.cols % n != 0) block(rows, m_.cols % n, storeLanes);
  }

  // Rows on pages of their own that go on for a while: no prefetcher follows so many streams.
  std::int64_t prefetchAhead() const { return m_.srcPitch >= 4096 && m_.cols >= 4 * m_.lanes ? 128 : 0; }

  void block(std::int64_t rows, std::int64_t cols, std::int64_t storeLanes) {
    transposeBlock(
        a_,
        TransposeBlock{m_.lanes, kBlockSrc, kBlockDst, kWalk, m_.srcPitch, m_.dstPitch, static_cast<int>(rows),
                       static_cast<int>(cols), prefetchAhead(), static_cast<int>(storeLanes)},
        elements_);
  }

  // Zeros from lane `from` of the current band on, in each of the `cols` destination rows.
  void padRows(std::int64_t from, std::int64_t count) {
    if (count <= 0) return;
    a_.copy(kBlockDst, kRowDst);
    a_.addImm(kBlockDst, kBlockDst, from * out());
    a_.zero(0);
    repeat(kBlocks, m_.cols, kBlockSrc, 0, kBlockDst, m_.dstPitch, [&] {
      for (std::int64_t at = 0; at < count; at += m_.lanes) storeZeros(0, kBlockDst, at * out(), lanesOf(count - at));
    });
  }

  static constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / 2;
  static constexpr std::int64_t kUnrolledVectors = 16;
  static constexpr int kDataRegisters = 8, kResults = kDataRegisters + 3;  // behind the scratch registers
  // L1 of every x86-64 core has 64 sets of lines of 64 bytes; sets have 8 lines on Zen 4, 12 on Zen 5.
  static constexpr std::int64_t kBytesOfSets = 4096, kLinesOfSet = 8;

  Move m_;
  const HostIsa isa_;
  VectorAssembler a_;
  ElementCode elements_;
  PostCode post_;
  ElementCode values_, results_, sloped_;  // of a backward move
  std::optional<Interleave> interleave_;
  int next_ = 0;
};

}  // namespace

Result<VectorProgram> vectorizeMove(const Move& move, const HostIsa& isa) { return Lowering(move, isa).run(); }

}  // namespace cubejit
