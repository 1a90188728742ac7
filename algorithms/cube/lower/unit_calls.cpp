// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides loads from L1 and the cube. A run is 32 bytes, c0 elements; fractals are 16 of them.
#include "algorithms/cube/lower/unit_calls.h"

#include <algorithm>
#include <string>

#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32, kFractal = kSide * kRun;

// Rows of sums that a multiply kernel holds in registers, by 16 columns.
std::int64_t registerRows(int lanes) { return lanes >= 16 ? 16 : 6; }

}  // namespace

CubeTensors tensorsOf(const CubeJob& job) {
  const bool dx = job.work.gradient == Gradient::kDx, transposed = job.problem.transposed;
  CubeTensors t;
  t.image = dx || transposed ? TensorId::kDy : TensorId::kX;
  t.other = dx ? TensorId::kW : transposed ? TensorId::kX : TensorId::kDy;
  t.result = dx ? TensorId::kDx : TensorId::kDw;
  t.imageMap = indexMap(job.problem, t.image);
  t.otherMap = indexMap(job.problem, t.other);
  t.resultMap = indexMap(job.problem, t.result);
  return t;
}

UnitCalls::UnitCalls(const CubeJob& job, const CubeTensors& tensors, const CubeStreams& streams, int lanes,
                     ProgramBuilder& builder)
    : job_(job),
      w_(job.work),
      t_(tensors),
      s_(streams),
      lanes_(lanes),
      b_(builder),
      word_(job.work.elementBytes == 2 ? Element::kHalf : Element::kF32) {}

void UnitCalls::beginTask(const CoreTask& task) { task_ = task; }

void UnitCalls::add(const UnitInstruction& instruction, CallSequence& calls) {
  calls.issue(std::holds_alternative<Mmad>(instruction) ? CoreUnit::kCube
              : std::holds_alternative<Unfold>(instruction) || std::holds_alternative<LoadFractals>(instruction)
                  ? CoreUnit::kL1ToL0
                  : CoreUnit::kGmToL1);
  if (const auto* i = std::get_if<LoadImage>(&instruction)) return load(*i, calls);
  if (const auto* i = std::get_if<LoadPixels>(&instruction)) return load(*i, calls);
  if (const auto* i = std::get_if<LoadWeights>(&instruction)) return load(*i, calls);
  if (const auto* i = std::get_if<Unfold>(&instruction)) return fill(*i, calls);
  if (const auto* i = std::get_if<LoadFractals>(&instruction)) return fill(*i, calls);
  multiply(*std::get_if<Mmad>(&instruction), calls);
}

// So many bytes, whole runs.
void UnitCalls::zero(const char* name, std::int64_t bytes, StreamPlace to, CallSequence& calls) const {
  if (bytes <= 0) return;
  ListedMoves moves;
  moves.add(rowMove(MoveKind::kZero, lanes_, bytes / 4, Element::kF32, Element::kF32, "zero"), 0, 0);
  moves.emit(calls, name, {}, to);
}

// Runs one after the other, each 32 bytes behind the last.
Move UnitCalls::copyRuns(std::int64_t fromPitch) const {
  Move m = rowMove(MoveKind::kCopy, lanes_, kRun / 4, Element::kF32, Element::kF32, "runs");
  m.aOuterStep = fromPitch;
  m.cOuterStep = kRun;
  return m;
}
Move UnitCalls::zeroRuns() const {
  Move m = rowMove(MoveKind::kZero, lanes_, kRun / 4, Element::kF32, Element::kF32, "zero_runs");
  m.cOuterStep = kRun;
  return m;
}

// Runs turned: c0 rows of `runs` elements, filled up to runs.
Move UnitCalls::turnRuns(std::int64_t runs) const {
  Move m = rowMove(MoveKind::kTranspose, lanes_, w_.c0, word_, word_, "turn");
  m.rows = runs;
  m.srcPitch = m.dstPitch = kRun;
  m.padCols = w_.c0 - runs;
  return m;
}

// What the unit's tap sees of pixels, run by run from byte `to` on; each 16 of them `fractalPitch` bytes behind the last.
void UnitCalls::gather(const Unfold& i, std::int64_t unit, std::int64_t to, std::int64_t fractalPitch,
                       ListedMoves& moves) const {
  const Span& pixels = i.pixels;
  const std::int64_t tap = unit % w_.tapsHw, block = unit / w_.tapsHw - i.piece.blocks.begin;
  const std::int64_t kh = tap / w_.kernel.w * w_.dilation.h, kw = tap % w_.kernel.w * w_.dilation.w;
  const std::int64_t stepW = w_.spread ? 1 : w_.stride.w;
  const Move copy = copyRuns(stepW * kRun), none = zeroRuns();
  // Positions [begin, end) of the pixels, piece by piece of a fractal.
  const auto each = [&](std::int64_t begin, std::int64_t end, const Move& move, std::int64_t from) {
    while (begin < end) {
      const std::int64_t here = std::min(end - begin, kSide - begin % kSide);
      moves.addSegment(move, {from, to + begin / kSide * fractalPitch + begin % kSide * kRun, here});
      from += here * move.aOuterStep;
      begin += here;
    }
  };
  for (std::int64_t p = 0; p < pixels.count;) {
    const std::int64_t h = (pixels.begin + p) / w_.row(), x = (pixels.begin + p) % w_.row();
    const std::int64_t count = std::min(pixels.count - p, w_.row() - x);
    const std::int64_t row = (w_.spread ? h + w_.pad.h - kh : h * w_.stride.h + kh - w_.pad.h) - i.piece.rows.begin;
    const std::int64_t column = (w_.spread ? x + w_.pad.w - kw : x * stepW + kw - w_.pad.w) - i.piece.columns.begin;
    std::int64_t begin = column >= 0 ? 0 : std::min(count, ceilDiv(-column, stepW));
    std::int64_t end = column >= i.piece.columns.count ? 0 : (i.piece.columns.count - 1 - column) / stepW + 1;
    end = std::max(begin, std::min(count, end));
    if (row < 0 || row >= i.piece.rows.count) begin = end = 0;
    each(p, p + begin, none, 0);
    if (end > begin) {
      const std::int64_t run = (block * i.piece.rows.count + row) * i.piece.columns.count + column + begin * stepW;
      each(p + begin, p + end, copy, run * kRun);
    }
    each(p + end, p + count, none, 0);
    p += count;
  }
}

void UnitCalls::fill(const Unfold& i, CallSequence& calls) {
  const std::int64_t c0 = w_.c0;
  ListedMoves moves;
  if (i.side == L0Side::kA) {
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      gather(i, i.units.begin + u, u * kFractal, i.units.count * kFractal, moves);
      const std::int64_t last = i.pixels.count % kSide;
      if (last > 0)
        moves.addSegment(zeroRuns(),
                         {0, (i.pixels.count / kSide * i.units.count + u) * kFractal + last * kRun, kSide - last});
    }
    return moves.emit(calls, "unfold", {s_.l1, i.piece.l1}, {s_.l0a, i.l0});
  }
  // Side by side first, whole blocks of c0 pixels, then turned.
  const std::int64_t k1 = ceilDiv(i.pixels.count, c0), n1 = ceilDiv(i.units.count * c0, kSide);
  ListedMoves turned;
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    const std::int64_t at = u * k1 * c0 * kRun;
    gather(i, i.units.begin + u, at, kFractal, moves);
    if (i.pixels.count < k1 * c0)
      moves.addSegment(zeroRuns(), {0, at + i.pixels.count * kRun, k1 * c0 - i.pixels.count});
    for (std::int64_t k = 0; k < k1; ++k)
      turned.add(turnRuns(c0), at + k * c0 * kRun, (k * n1 + u * c0 / kSide) * kFractal + u * c0 % kSide * kRun);
  }
  moves.emit(calls, "unfold", {s_.l1, i.piece.l1}, {s_.unfolded, 0});
  turned.emit(calls, "turn", {s_.unfolded, 0}, {s_.l0b, i.l0});
  ListedMoves rest;  // f32: half of the last fractal
  for (std::int64_t k = 0; k < k1 && i.units.count * c0 % kSide != 0; ++k)
    rest.addSegment(zeroRuns(), {0, (k * n1 + n1 - 1) * kFractal + c0 * kRun, kSide - c0});
  rest.emit(calls, "zero", {}, {s_.l0b, i.l0});
}

void UnitCalls::fill(const LoadFractals& i, CallSequence& calls) {
  const std::int64_t c0 = w_.c0, x1 = ceilDiv(i.x.count, kSide), k1 = ceilDiv(i.y.count, c0);
  const bool a = i.side == L0Side::kA;
  const StreamPlace to{a ? s_.l0a : s_.l0b, i.l0}, from{s_.l1, i.l1};
  const auto row = [&](std::int64_t x, std::int64_t k) {
    return (a ? x / kSide * k1 + k : k * x1 + x / kSide) * kFractal + x % kSide * kRun;
  };
  ListedMoves moves;
  for (std::int64_t k = 0; k < k1; ++k) {
    const std::int64_t filled = i.plain ? i.x.count : roundUp(i.x.count, c0);
    if (i.plain) {
      const std::int64_t block = ((i.y.begin / c0 + k) * i.pitch + i.x.begin) * kRun;
      for (std::int64_t x = 0; x < i.x.count; x += kSide)
        moves.addSegment(copyRuns(kRun), {block + x * kRun, row(x, k), std::min(kSide, i.x.count - x)});
    } else {
      const std::int64_t ys = std::min(c0, i.y.count - k * c0);
      for (std::int64_t x = 0; x < i.x.count; x += c0)
        moves.add(turnRuns(ys), ((i.x.begin + x) / c0 * i.pitch + i.y.begin + k * c0) * kRun, row(x, k));
    }
    if (filled % kSide != 0) moves.addSegment(zeroRuns(), {0, row(filled, k), kSide - filled % kSide});
  }
  moves.emit(calls, a ? "load_l0a" : "load_l0b", from, to);
}

// Sums of `rows` x 16 in registers; each step is one k: 16 columns of B, and one value a row. A has `m` rows.
int UnitCalls::mmadKernel(std::int64_t rows, std::int64_t m) {
  const auto [known, fresh] = mmads_.emplace(std::pair{rows, m}, -1);
  if (!fresh) return known->second;
  const std::int64_t vectors = kSide / lanes_, c0 = w_.c0;
  Contract c;
  c.lanes = lanes_;
  c.label = "mmad_" + std::to_string(rows) + "x16_of_" + std::to_string(m);
  Section fractal;
  fractal.aOuterStep = m * c0 * 4;
  fractal.bOuterStep = kSide * c0 * 4;
  for (std::int64_t i = 0; i < c0; ++i) {
    const std::int64_t k = kOfStep(i, w_.type);
    Step step;
    for (std::int64_t v = 0; v < vectors; ++v)
      step.b.push_back({static_cast<std::int32_t>((k * kSide + v * lanes_) * 4), LaneRange{}});
    for (std::int64_t r = 0; r < rows; ++r) {
      AOperand a;
      a.offset = static_cast<std::int32_t>((r * c0 + k) * 4);
      for (std::int64_t v = 0; v < vectors; ++v)
        a.uses.push_back({static_cast<std::int16_t>(r * vectors + v), static_cast<std::int16_t>(v)});
      step.a.push_back(std::move(a));
    }
    fractal.steps.push_back(std::move(step));
  }
  c.sections.push_back(std::move(fractal));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t v = 0; v < vectors; ++v)
      c.accumulators.push_back({static_cast<std::int32_t>((r * kSide + v * lanes_) * 4), LaneRange{}});
  }
  return known->second = b_.addKernel(std::move(c));
}

void UnitCalls::multiply(const Mmad& i, CallSequence& calls) {
  const std::int64_t c0 = w_.c0, m = i.m1 * kSide, words = kSide * c0;
  const bool half = w_.elementBytes == 2;
  const Element from = half ? elementOf(w_.type) : Element::kF32, to = half ? Element::kF32 : elementOf(w_.type);
  Move a = rowMove(MoveKind::kCopy, lanes_, words, from, to, "read_l0a");
  a.aOuterStep = kFractal;
  a.cOuterStep = m * c0 * 4;
  Move b = rowMove(MoveKind::kTranspose, lanes_, c0, from, to, "read_l0b");
  b.rows = kSide;
  b.srcPitch = kRun;
  b.dstPitch = kSide * 4;
  b.aOuterStep = i.n1 * kFractal;
  b.cOuterStep = words * 4;
  ListedMoves readA, readB;
  for (std::int64_t r = 0; r < i.m1; ++r) readA.addSegment(a, {r * i.k1 * kFractal, r * words * 4, i.k1});
  for (std::int64_t n = 0; n < i.n1; ++n) readB.addSegment(b, {n * kFractal, n * i.k1 * words * 4, i.k1});
  readA.emit(calls, "read_l0a", {s_.l0a, i.l0a}, {s_.aWords, 0});
  readB.emit(calls, "read_l0b", {s_.l0b, i.l0b}, {s_.bWords, 0});
  Variant variant;
  variant.list = b_.addList({{Segment{0, 0, i.k1}}});
  variant.accumulate = !i.first;
  const std::int64_t most = registerRows(lanes_);
  for (std::int64_t n = 0; n < i.n1; ++n) {
    for (std::int64_t row = 0; row < m;) {
      const std::int64_t rows = std::min(most, m - row), count = (m - row) / rows;
      CallPlace place;
      place.repeat = count;
      place.repeatStep = {rows * c0 * 4, 0, rows * kSide * 4, 0};
      variant.kernel = mmadKernel(rows, m);
      calls.add("mmad", {s_.aWords, row * c0 * 4}, {s_.bWords, n * i.k1 * words * 4},
                {s_.l0c, i.l0c + (n * m + row) * kSide * 4}, variant, place);
      row += rows * count;
    }
  }
}

}  // namespace cubejit
