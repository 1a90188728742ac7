// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the copies. Panels: A is [k1][m][words], so that pixels of a row stay together, B is [n1][k1][words][16 n]; words are c0 f32,
// or, for dot products, c0 / 2 pairs of neighbours along k.
#include "emulation/forward.h"

#include <algorithm>
#include <cstring>

#include "emulation/tap_window.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32;

// One move's destination, and the kernels that bring elements into its form.
class Panel {
 public:
  Panel(const UnitCode& code, const UnitContext& c, const ForwardWay& way, float* panel, std::int64_t l0)
      : code_(code), c0_(c.work.c0), pairs_(way.pairs), asIs_(way.pairs || c.work.type == DType::kF32) {
    to_ = way.to != nullptr ? way.to : panel + l0 / c.work.elementBytes;
  }
  float* at(std::int64_t word) const { return to_ + word; }
  /// Words of c0 elements along k.
  std::int64_t words() const { return pairs_ ? c0_ / 2 : c0_; }
  bool pairs() const { return pairs_; }

  /// Runs to rows of their words (A), or of c0 of 16 n (B, not pairs), `pitch` words apart.
  void runs(const std::byte* from, std::int64_t fromPitch, std::int64_t count, float* to, std::int64_t pitch) const {
    if (asIs_ && fromPitch == kRun && pitch * 4 == kRun && count >= kSide) {  // 16 at a time
      const std::int64_t whole = count / kSide;
      call(UnitKernel::kFractals, from, to, whole, kSide * kRun, kSide * pitch);
      from += whole * kSide * kRun;
      to += whole * kSide * pitch;
      count -= whole * kSide;
    }
    call(asIs_ ? UnitKernel::kRuns : UnitKernel::kWidenRuns, from, to, count, fromPitch, pitch);
  }
  /// Two runs, of neighbours along k, to a row of pairs; `count` runs, the last one alone if that is odd.
  void pairedRuns(const std::byte* from, std::int64_t count, float* to) const {
    call(UnitKernel::kPairs, from, to, count / 2, 2 * kRun, kSide);
    if (count % 2 == 0) return;
    alignas(64) std::byte last[2 * kRun] = {};
    std::memcpy(last, from + (count - 1) * kRun, kRun);
    call(UnitKernel::kPairs, last, to + count / 2 * kSide, 1, 0, 0);
  }
  /// c0 runs along k, each of c0 rows of A.
  void turned(const std::byte* from, float* to, std::int64_t repeat, std::int64_t toPitch) const {
    call(pairs_ ? UnitKernel::kTurn : UnitKernel::kWidenTurned, from, to, repeat, c0_ * kRun, toPitch);
  }
  /// 16 runs of n, each along k.
  void fractal(const std::byte* from, float* to) const {
    call(pairs_ ? UnitKernel::kPairsTurned : UnitKernel::kWidenB, from, to, 1, 0, 0);
  }
  static void zero(float* to, std::int64_t rows, std::int64_t pitch, std::int64_t columns) {
    if (pitch == columns) {
      if (rows > 0) std::memset(to, 0, static_cast<std::size_t>(rows * columns * 4));
      return;
    }
    for (std::int64_t r = 0; r < rows; ++r) std::memset(to + r * pitch, 0, static_cast<std::size_t>(columns * 4));
  }

 private:
  void call(UnitKernel kernel, const void* from, void* to, std::int64_t repeat, std::int64_t fromPitch,
            std::int64_t toPitch) const {
    if (repeat > 0) code_.call(kernel, movedBy(from, to, repeat, fromPitch, toPitch * 4));
  }

  const UnitCode& code_;
  std::int64_t c0_;
  bool pairs_, asIs_;
  float* to_;
};

// What a tap sees of pixels: rows `pitch` words apart, `columns` words each; zero where it sees nothing.
void seenRows(const Panel& panel, const TapWindow& window, const Span& pixels, float* to, std::int64_t pitch,
              std::int64_t columns) {
  window.eachRow(pixels.begin, pixels.count, [&](std::int64_t offset, const SeenRow& seen, std::int64_t here) {
    float* rows = to + offset * pitch;
    Panel::zero(rows, seen.begin, pitch, columns);
    panel.runs(seen.first, seen.pitch, seen.end - seen.begin, rows + seen.begin * pitch, pitch);
    Panel::zero(rows + seen.end * pitch, here - seen.end, pitch, columns);
  });
}

// [k / c0][n][c0 k] to rows of n, 16 n at a time.
void plainB(const Panel& panel, const LoadFractals& i, std::int64_t c0, const std::byte* from) {
  const std::int64_t k1 = ceilDiv(i.y.count, c0), block = panel.words() * kSide;
  for (std::int64_t k = 0; k < k1; ++k) {
    for (std::int64_t x = 0; x < i.x.count; x += kSide) {
      const std::byte* runs = from + ((i.y.begin / c0 + k) * i.pitch + i.x.begin + x) * kRun;
      const std::int64_t here = std::min(kSide, i.x.count - x);
      alignas(64) std::byte last[kSide * kRun] = {};
      if (here < kSide) std::memcpy(last, runs, static_cast<std::size_t>(here * kRun));
      panel.fractal(here < kSide ? last : runs, panel.at((x / kSide * k1 + k) * block));
    }
  }
}

void matrixA(const Panel& panel, const LoadFractals& i, std::int64_t c0, const std::byte* from) {
  const std::int64_t m = roundUp(i.x.count, kSide), k1 = ceilDiv(i.y.count, c0), w = panel.words();
  const std::int64_t whole = i.y.count / c0, rest = i.y.count % c0;
  for (std::int64_t x = 0; x < i.x.count; x += c0) {
    const std::byte* runs = from + ((i.x.begin + x) / c0 * i.pitch + i.y.begin) * kRun;
    panel.turned(runs, panel.at(x * w), whole, m * w);
    if (rest == 0) continue;
    alignas(64) std::byte last[kSide * kRun] = {};
    std::memcpy(last, runs + whole * c0 * kRun, static_cast<std::size_t>(rest * kRun));
    panel.turned(last, panel.at((whole * m + x) * w), 1, 0);
  }
  for (std::int64_t k = 0; k < k1; ++k) Panel::zero(panel.at((k * m + i.x.count) * w), m - i.x.count, w, w);
}

void matrixB(const Panel& panel, const LoadFractals& i, std::int64_t c0, const std::byte* from) {
  const std::int64_t rows = ceilDiv(i.y.count, c0) * panel.words();  // of 16 n
  for (std::int64_t x = 0; x < i.x.count; x += c0) {
    const std::byte* runs = from + ((i.x.begin + x) / c0 * i.pitch + i.y.begin) * kRun;
    float* column = panel.at(x / kSide * rows * kSide + x % kSide);
    const std::int64_t filled = panel.pairs() ? ceilDiv(i.y.count, 2) : i.y.count;
    if (panel.pairs())
      panel.pairedRuns(runs, i.y.count, column);
    else
      panel.runs(runs, kRun, i.y.count, column, kSide);
    Panel::zero(column + filled * kSide, rows - filled, kSide, c0);
  }
  const std::int64_t rest = i.x.count % kSide;
  if (rest != 0) Panel::zero(panel.at(i.x.count / kSide * rows * kSide + rest), rows, kSide, kSide - rest);
}

}  // namespace

namespace {

// Rows of the fractals that are seen, in the order of classes; zero where a row sees nothing.
void seenFractals(const Panel& panel, const Unfold& i, const UnitContext& c, const SeenFractals& seen,
                  const CoreMemory& memory) {
  const std::int64_t w = panel.words(), rows = seen.m1 * kSide;
  auto span = seen.spans.begin();
  for (std::int64_t u = 0; u < seen.units; ++u) {
    const auto zero = [&](std::int64_t begin, std::int64_t end) {
      Panel::zero(panel.at((u * rows + begin) * w), end - begin, w, w);
    };
    std::int64_t filled = 0;
    for (std::size_t r = 0; r < seen.ranges.size(); ++r) {
      if (!seen.taken(u, r)) continue;
      filled = std::max(filled, seen.ranges[r].begin);
      for (; span != seen.spans.end() && span->unit == u && span->position < seen.ranges[r].end; ++span) {
        zero(filled, span->position);
        filled = span->position + span->count;
      }
      zero(filled, seen.ranges[r].end);
    }
  }
  const std::byte* from = memory.at(CoreBuffer::kL1, i.piece.l1);
  for (const SeenSpan& span : seen.spans) {
    const std::int64_t block = (i.units.begin + span.unit) / c.work.tapsHw - i.piece.blocks.begin;
    const std::int64_t run = (block * i.piece.rows.count + span.row) * i.piece.columns.count + span.column;
    panel.runs(from + run * kRun, c.work.stride.w * kRun, span.count, panel.at((span.unit * rows + span.position) * w),
               w);
  }
}

}  // namespace

void forward(const UnitCode& code, const Unfold& i, const UnitContext& c, const ForwardWay& way, CubePanels& panels,
             CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0;
  const bool pairs = way.pairs;
  TapWindow window(i, c, memory);
  if (i.side == L0Side::kA) {
    const Panel panel(code, c, way, panels.a.get(), i.l0);
    if (way.onlySeen) return seenFractals(panel, i, c, panels.seen, memory);
    const std::int64_t m = roundUp(i.pixels.count, kSide), w = panel.words();
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      window.setUnit(i.units.begin + u);
      seenRows(panel, window, i.pixels, panel.at(u * m * w), w, w);
      Panel::zero(panel.at((u * m + i.pixels.count) * w), m - i.pixels.count, w, w);
    }
    return;
  }
  // Pixels are k: rows of 16 n; the k blocks of one n block follow each other.
  const Panel panel(code, c, way, panels.b.get(), i.l0);
  const std::int64_t ks = roundUp(i.pixels.count, c0), rows = ks / c0 * panel.words(), n = i.units.count * c0;
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    window.setUnit(i.units.begin + u);
    float* column = panel.at(u * c0 / kSide * rows * kSide + u * c0 % kSide);
    if (pairs) {  // the runs first, then two by two
      float* runs = panels.runs.get();
      seenRows(panel, window, i.pixels, runs, kRun / 4, kRun / 4);
      Panel::zero(runs + i.pixels.count * kRun / 4, ks - i.pixels.count, kRun / 4, kRun / 4);
      panel.pairedRuns(reinterpret_cast<const std::byte*>(runs), ks, column);
      continue;
    }
    seenRows(panel, window, i.pixels, column, kSide, c0);
    Panel::zero(column + i.pixels.count * kSide, ks - i.pixels.count, kSide, c0);
  }
  if (n % kSide != 0) Panel::zero(panel.at(n / kSide * rows * kSide + n % kSide), rows, kSide, kSide - n % kSide);
}

void forward(const UnitCode& code, const LoadFractals& i, const UnitContext& c, const ForwardWay& way,
             CubePanels& panels, CoreMemory& memory) {
  if (way.onlySeen && panels.seen.count == 0) return;
  const bool a = i.side == L0Side::kA;
  const Panel panel(code, c, way, (a ? panels.a : panels.b).get(), i.l0);
  const std::byte* from = memory.at(CoreBuffer::kL1, i.l1);
  (i.plain ? plainB : a ? matrixA : matrixB)(panel, i, c.work.c0, from);
}

CubeOperands forwardedOperands(const Mmad& i, const UnitContext& c, const ForwardWay& way, const CubePanels& panels) {
  const std::int64_t words = way.pairs ? c.work.c0 / 2 : c.work.c0, all = i.k1 * words;
  // What was brought, and a zero behind it; of bf16 pairs stay together.
  std::int64_t along = all;
  if (way.along > 0 && way.pairs) along = std::min(all, ceilDiv(way.along, 2) + 1);
  if (way.along > 0 && !way.pairs)
    along = std::min(all, roundUp(c.work.type == DType::kBf16 ? roundUp(way.along, 2) + 1 : way.along + 1, 2));
  return {panels.a.get() + i.l0a / c.work.elementBytes,
          panels.b.get() + i.l0b / c.work.elementBytes,
          i.m1 * kSide * words,
          kSide * words,
          words,
          way.pairs,
          way.rows > 0 ? way.rows : i.m1 * kSide,
          along,
          way.onlySeen ? &panels.seen : nullptr};
}

}  // namespace cubejit
