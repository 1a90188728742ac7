// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how moves become vector ops: loops over whole blocks, then the tails, with masks for what is narrower than a vector.
// Leaves the shuffles of one block to units/transpose.
#include "codegen/units/move.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "codegen/units/assembler.h"
#include "codegen/units/interleave.h"
#include "codegen/units/lane_sums.h"
#include "codegen/units/transpose.h"

namespace cubejit {
namespace {

enum Scalar { kSrc, kDst, kRepeat, kRowSrc, kRowDst, kRows, kBlockSrc, kBlockDst, kBlocks, kWalk, kFlag };

// The same move with as few rows as it can be said in: dense matrices are one row, and turning one row or column is a copy.
Move simplest(Move m) {
  const bool denseRow = m.rows == 1 && m.dstPitch == 4 && m.padCols == 0, denseColumn = m.cols == 1 && m.srcPitch == 4;
  if (m.kind == MoveKind::kTranspose && (denseRow || denseColumn)) {
    m.kind = MoveKind::kCopy;
    if (!denseRow) std::swap(m.rows, m.cols);
    m.srcPitch = m.dstPitch = 0;  // there is one row
  }
  const bool dense =
      m.dstPitch == m.cols * 4 && m.padCols == 0 && (m.srcPitch == m.dstPitch || m.kind == MoveKind::kZero);
  if (m.kind != MoveKind::kTranspose && m.kind != MoveKind::kLaneSums && dense) {
    m.cols *= m.rows;
    m.rows = 1;
  }
  return m;
}

class Lowering {
 public:
  Lowering(const Move& move, const HostIsa& isa) : m_(simplest(move)), isa_(isa), a_(move.label, isa) {
    const bool dense = m_.kind == MoveKind::kTranspose && m_.dstPitch == (m_.rows + m_.padCols) * 4;
    if (dense && m_.cols > 1 && Interleave::applies(m_.rows, m_.padCols, m_.srcPitch))
      interleave_.emplace(a_, isa_, m_.rows, m_.padCols, m_.srcPitch);
  }

  Result<VectorProgram> run() {
    a_.arg(kSrc, ArgSlot::kA);
    a_.arg(kDst, ArgSlot::kC);
    a_.arg(kRepeat, ArgSlot::kRepeat);
    reserveMasks();
    if (interleave_) interleave_->loadTables();
    a_.loop(kRepeat);
    a_.copy(kRowSrc, kSrc);
    a_.copy(kRowDst, kDst);
    prefetchNext();
    if (m_.rows > 0 && m_.cols > 0) {
      if (interleave_)
        interleaveAll();
      else if (m_.kind == MoveKind::kTranspose)
        transposeAll();
      else if (m_.kind == MoveKind::kLaneSums)
        sumAll();
      else
        copyAll();
    }
    a_.arg(kFlag, ArgSlot::kARepeat);
    a_.add(kSrc, kSrc, kFlag);
    a_.arg(kFlag, ArgSlot::kCRepeat);
    a_.add(kDst, kDst, kFlag);
    a_.endLoop();
    return a_.take();
  }

 private:
  // The lines of a later repetition's source. Rows that follow each other closely are one range.
  void prefetchNext() {
    if (m_.prefetchAhead <= 0) return;
    a_.copy(kWalk, kSrc);
    a_.arg(kFlag, ArgSlot::kARepeat);
    for (int i = 0; i < m_.prefetchAhead; ++i) a_.add(kWalk, kWalk, kFlag);
    const bool close = m_.srcPitch <= m_.cols * 4 + 64;
    const std::int64_t rows = close ? 1 : m_.rows;
    const std::int64_t bytes = m_.cols * 4 + (close ? (m_.rows - 1) * m_.srcPitch : 0);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t at = 0; at < bytes; at += 64) a_.prefetch(kWalk, r * m_.srcPitch + at);
    }
  }

  LaneRange lanesOf(std::int64_t count) const { return lanesUpTo(count, m_.lanes); }

  void reserveMasks() {
    std::vector<LaneRange> ranges{lanesOf(m_.cols % m_.lanes), lanesOf(m_.rows % m_.lanes),
                                  lanesOf(m_.padCols % m_.lanes)};
    const std::int64_t live = m_.kind == MoveKind::kTranspose ? m_.rows : m_.cols;
    ranges.push_back(lanesOf((live + m_.padCols) % m_.lanes));
    if (interleave_) ranges.push_back(lanesOf(m_.cols % m_.lanes * (m_.rows + m_.padCols) % m_.lanes));
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

  // ---- copy, zero, accumulate: row by row ----
  void copyAll() {
    const std::int64_t vectors = m_.cols / m_.lanes, perRow = vectors + 2;
    std::int64_t unroll = std::clamp<std::int64_t>(12 / std::max<std::int64_t>(1, perRow), 1, m_.rows);
    if (m_.srcPitch * unroll > kReach || m_.dstPitch * unroll > kReach) unroll = 1;
    const auto rows = [&](std::int64_t count) {
      for (std::int64_t r = 0; r < count; ++r) copyRow(r * m_.srcPitch, r * m_.dstPitch);
    };
    if (vectors > kUnrolledVectors) {
      repeat(kRows, m_.rows, kRowSrc, m_.srcPitch, kRowDst, m_.dstPitch, [&] { longRow(); });
      return;
    }
    repeat(kRows, m_.rows / unroll, kRowSrc, unroll * m_.srcPitch, kRowDst, unroll * m_.dstPitch,
           [&] { rows(unroll); });
    rows(m_.rows % unroll);
  }

  void copyRow(std::int64_t src, std::int64_t dst) {
    std::int64_t c = 0;
    for (; c + m_.lanes <= m_.cols; c += m_.lanes) copyVector(kRowSrc, src + c * 4, kRowDst, dst + c * 4, {});
    tail(kRowSrc, src + c * 4, kRowDst, dst + c * 4, m_.cols - c);
  }

  void longRow() {
    const std::int64_t vectors = m_.cols / m_.lanes, bytes = m_.lanes * 4;
    a_.copy(kBlockSrc, kRowSrc);
    a_.copy(kBlockDst, kRowDst);
    const auto some = [&](std::int64_t count) {
      for (std::int64_t v = 0; v < count; ++v) copyVector(kBlockSrc, v * bytes, kBlockDst, v * bytes, {});
    };
    repeat(kBlocks, vectors / 8, kBlockSrc, 8 * bytes, kBlockDst, 8 * bytes, [&] { some(8); });
    some(vectors % 8);
    tail(kBlockSrc, vectors % 8 * bytes, kBlockDst, vectors % 8 * bytes, m_.cols % m_.lanes);
  }

  // What is left of a row: `count` elements (fewer than a vector), then the padding.
  void tail(Scalar srcBase, std::int64_t src, Scalar dstBase, std::int64_t dst, std::int64_t count) {
    std::int64_t written = 0;
    const std::int64_t all = count + m_.padCols;
    if (count > 0) {
      written = std::min<std::int64_t>(m_.lanes, all);
      if (m_.kind == MoveKind::kCopy) {  // the masked load has zeros behind the elements: they are the padding
        const int r = next();
        a_.load(r, srcBase, src, lanesOf(count));
        a_.store(r, dstBase, dst, lanesOf(written));
      } else {
        written = count;
        copyVector(srcBase, src, dstBase, dst, lanesOf(count));
      }
    }
    for (; written < all; written += m_.lanes) {
      const int r = next();
      a_.zero(r);
      a_.store(r, dstBase, dst + written * 4, lanesOf(all - written));
    }
  }

  void copyVector(Scalar srcBase, std::int64_t src, Scalar dstBase, std::int64_t dst, LaneRange lanes) {
    const int r = next();
    if (m_.kind == MoveKind::kZero) {
      a_.zero(r);
    } else {
      a_.load(r, srcBase, src, lanes);
    }
    if (m_.kind == MoveKind::kAccumulate) {
      const int old = next();
      a_.load(old, dstBase, dst, lanes);
      a_.addF(r, old, r);
    }
    if (m_.streamingStore && lanes.all())
      a_.storeStream(r, dstBase, dst);
    else
      a_.store(r, dstBase, dst, lanes);
  }

  int next() { return next_++ % std::min(8, isa_.vectorRegs / 2); }

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
    const std::int64_t n = m_.lanes, rowBlocks = m_.rows / n, rowTail = m_.rows % n;
    // Padding that starts behind the last whole row block is written with an (otherwise empty) tail block.
    repeat(kRows, rowBlocks, kRowSrc, n * m_.srcPitch, kRowDst, n * 4, [&] { rowBand(n, n); });
    const std::int64_t firstPad = std::min(n, rowTail + m_.padCols);
    if (rowTail > 0) {
      rowBand(rowTail, firstPad);
      padRows(n, m_.padCols - (firstPad - rowTail));
    } else {
      padRows(0, m_.padCols);
    }
  }

  // All columns of `rows` source rows.
  void rowBand(std::int64_t rows, std::int64_t storeLanes) {
    const std::int64_t n = m_.lanes;
    a_.copy(kBlockSrc, kRowSrc);
    a_.copy(kBlockDst, kRowDst);
    repeat(kBlocks, m_.cols / n, kBlockSrc, n * 4, kBlockDst, n * m_.dstPitch, [&] { block(rows, n, storeLanes); });
    if (m_.cols % n != 0) block(rows, m_.cols % n, storeLanes);
  }

  // Rows on pages of their own that go on for a while: no prefetcher follows so many streams.
  std::int64_t prefetchAhead() const { return m_.srcPitch >= 4096 && m_.cols >= 4 * m_.lanes ? 128 : 0; }

  void block(std::int64_t rows, std::int64_t cols, std::int64_t storeLanes) {
    transposeBlock(
        a_, TransposeBlock{m_.lanes, kBlockSrc, kBlockDst, kWalk, m_.srcPitch, m_.dstPitch, static_cast<int>(rows),
                           static_cast<int>(cols), prefetchAhead(), static_cast<int>(storeLanes)});
  }

  // Zeros from lane `from` of the current band on, in each of the `cols` destination rows.
  void padRows(std::int64_t from, std::int64_t count) {
    if (count <= 0) return;
    a_.copy(kBlockDst, kRowDst);
    a_.addImm(kBlockDst, kBlockDst, from * 4);
    a_.zero(0);
    repeat(kBlocks, m_.cols, kBlockSrc, 0, kBlockDst, m_.dstPitch, [&] {
      for (std::int64_t at = 0; at < count; at += m_.lanes) a_.store(0, kBlockDst, at * 4, lanesOf(count - at));
    });
  }

  static constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / 2;
  static constexpr std::int64_t kUnrolledVectors = 16;

  const Move m_;
  const HostIsa isa_;
  VectorAssembler a_;
  std::optional<Interleave> interleave_;
  int next_ = 0;
};

}  // namespace

Result<VectorProgram> vectorizeMove(const Move& move, const HostIsa& isa) { return Lowering(move, isa).run(); }

}  // namespace cubejit
