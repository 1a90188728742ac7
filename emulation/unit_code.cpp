// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which calls of the kernels an instruction is.
#include "emulation/unit_code.h"

#include <algorithm>

#include "emulation/tap_window.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32, kFractalBytes = 512;

void zeros(const UnitCode& code, std::byte* to, std::int64_t runs) {
  if (runs > 0) code.call(UnitKernel::kZeroRuns, movedBy(to, to, runs, 0, kRun));
}

// Runs of the pixels [first, first + count) as tap `window` sees them, one after the other at `to`.
void gather(const UnitCode& code, const TapWindow& window, std::int64_t first, std::int64_t count, std::byte* to) {
  window.eachRow(first, count, [&](std::int64_t offset, const SeenRow& seen, std::int64_t here) {
    std::byte* runs = to + offset * kRun;
    zeros(code, runs, seen.begin);
    if (seen.end > seen.begin)
      code.call(UnitKernel::kRuns,
                movedBy(seen.first, runs + seen.begin * kRun, seen.end - seen.begin, seen.pitch, kRun));
    zeros(code, runs + seen.end * kRun, here - seen.end);
  });
}

}  // namespace

CubeOperands readOperands(const UnitCode& code, const Mmad& i, const UnitContext& c, bool pairs, CubePanels& panels,
                          CoreMemory& memory) {
  const std::int64_t words = pairs ? c.work.c0 / 2 : c.work.c0, fractal = kSide * words;
  const std::byte* l0a = memory.at(CoreBuffer::kL0a, i.l0a);
  // f32 fractals of A are what the contract reads already, and so are pairs.
  const bool asIs = pairs || c.work.type == DType::kF32;
  if (!asIs) code.call(UnitKernel::kWidenA, movedBy(l0a, panels.a.get(), i.m1 * i.k1, kFractalBytes, fractal * 4));
  for (std::int64_t n = 0; n < i.n1; ++n)
    code.call(pairs ? UnitKernel::kPairsTurned : UnitKernel::kWidenB,
              movedBy(memory.at(CoreBuffer::kL0b, i.l0b + n * kFractalBytes), panels.b.get() + n * i.k1 * fractal, i.k1,
                      i.n1 * kFractalBytes, fractal * 4));
  return {asIs ? reinterpret_cast<const float*>(l0a) : panels.a.get(),
          panels.b.get(),
          fractal,
          i.k1 * fractal,
          words,
          pairs,
          i.m1 * kSide,
          i.k1 * words,
          nullptr};
}

namespace {

// Segments of fractals of A and of B: those along k, in as few as they lie, or those that are seen of a range.
void listSegments(const Mmad& i, const CubeOperands& o, std::size_t range, std::int64_t* list) {
  const std::int64_t fractal = kSide * o.words;
  std::int64_t* next = list + 2;
  const auto add = [&](std::int64_t k, std::int64_t count) {
    *next++ = k * o.aStepK * 4;
    *next++ = k * fractal * 4;
    *next++ = count;
  };
  const std::int64_t along = o.seen == nullptr ? o.along : i.k1 * o.words;
  const std::int64_t whole = along / o.words, rest = along % o.words;
  if (o.seen == nullptr && o.aStepK == fractal) {
    if (whole > 0) add(0, whole);
  } else {
    for (std::int64_t k = 0; k < whole; ++k) {
      if (o.seen == nullptr || o.seen->taken(k, range)) add(k, 1);
    }
  }
  list[0] = (next - list - 2) / 3;
  list[1] = rest > 0 ? 1 : 0;
  if (rest > 0) add(whole, rest / mmadWords(o.pairs));
}

// The kernel of so many rows, a multiple of 4.
UnitKernel mmadOf(const UnitCode& code, std::int64_t rows, bool pairs) {
  if (rows == code.rows) return pairs ? UnitKernel::kMmadDots : UnitKernel::kMmad;
  return static_cast<UnitKernel>(static_cast<std::int64_t>(pairs ? UnitKernel::kMmadDots4 : UnitKernel::kMmad4) +
                                 rows / 4 - 1);
}

}  // namespace

void multiply(const UnitCode& code, const Mmad& i, const CubeOperands& operands, CubePanels& panels,
              CoreMemory& memory) {
  const std::int64_t fractal = kSide * operands.words;
  std::int64_t* list = panels.segments.data();
  // `count` times so many rows, `step` apart.
  const auto call = [&](std::int64_t first, std::int64_t rows, std::int64_t count, std::int64_t step) {
    if (count == 0) return;
    const std::int64_t a = first / kSide * operands.aStepM + first % kSide * operands.words;
    const std::int64_t aStep = step == kSide ? operands.aStepM : step * operands.words;
    for (std::int64_t n = 0; n < i.n1; ++n) {
      KernelArgs args = movedBy(operands.a + a, memory.l0c(i.l0c) + (n * i.m1 * kSide + first) * kSide, count,
                                aStep * 4, step * kSide * 4);
      args.b = operands.b + n * i.k1 * fractal;
      args.list = list;
      args.accumulate = i.first ? 0 : 1;
      code.call(mmadOf(code, rows, operands.pairs), args);
    }
  };
  if (operands.aStepM != fractal) {  // fractal by fractal
    listSegments(i, operands, 0, list);
    for (std::int64_t row = 0; row < kSide; row += code.rows) call(row, code.rows, i.m1, kSide);
    return;
  }
  const std::int64_t rows = roundUp(operands.rows, kSeenRows);
  const SeenRange all{0, rows};
  const std::size_t ranges = operands.seen == nullptr ? 1 : operands.seen->ranges.size();
  for (std::size_t r = 0; r < ranges; ++r) {
    const auto [begin, end] = operands.seen == nullptr ? all : operands.seen->ranges[r];
    listSegments(i, operands, r, list);
    if (list[0] + list[1] == 0 && !i.first) continue;
    const std::int64_t whole = (end - begin) / code.rows, rest = (end - begin) % code.rows;
    call(begin, code.rows, whole, code.rows);
    if (rest > 0) call(begin + whole * code.rows, rest, 1, code.rows);
  }
}

void execute(const UnitCode& code, const Mmad& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory) {
  multiply(code, i, readOperands(code, i, c, false, panels, memory), panels, memory);
}

void execute(const UnitCode& code, const Unfold& i, const UnitContext& c, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0;
  TapWindow window(i, c, memory);
  if (i.side == L0Side::kA) {
    std::byte* to = memory.at(CoreBuffer::kL0a, i.l0);
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      window.setUnit(i.units.begin + u);
      for (std::int64_t p = 0; p < i.pixels.count; p += kSide) {
        std::byte* fractal = to + (p / kSide * i.units.count + u) * kFractalBytes;
        const std::int64_t count = std::min(kSide, i.pixels.count - p);
        gather(code, window, i.pixels.begin + p, count, fractal);
        zeros(code, fractal + count * kRun, kSide - count);
      }
    }
    return;
  }
  const std::int64_t k1 = ceilDiv(i.pixels.count, c0), n1 = ceilDiv(i.units.count * c0, kSide);
  std::byte* to = memory.at(CoreBuffer::kL0b, i.l0);
  alignas(64) std::byte runs[kFractalBytes];
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    window.setUnit(i.units.begin + u);
    for (std::int64_t k = 0; k < k1; ++k) {
      const std::int64_t count = std::min(c0, i.pixels.count - k * c0);
      gather(code, window, i.pixels.begin + k * c0, count, runs);
      zeros(code, runs + count * kRun, c0 - count);
      const std::int64_t n = u * c0;
      code.call(UnitKernel::kTurn,
                movedBy(runs, to + (k * n1 + n / kSide) * kFractalBytes + n % kSide * kRun, 1, 0, 0));
    }
  }
  if (i.units.count * c0 % kSide == 0) return;
  for (std::int64_t k = 0; k < k1; ++k)  // f32: half of the last fractal
    zeros(code, to + (k * n1 + n1 - 1) * kFractalBytes + c0 * kRun, kSide - c0);
}

void execute(const UnitCode& code, const LoadFractals& i, const UnitContext& c, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0, x1 = ceilDiv(i.x.count, kSide), k1 = ceilDiv(i.y.count, c0);
  const bool a = i.side == L0Side::kA;
  std::byte* to = memory.at(a ? CoreBuffer::kL0a : CoreBuffer::kL0b, i.l0);
  const std::byte* from = memory.at(CoreBuffer::kL1, i.l1);
  for (std::int64_t k = 0; i.plain && k < k1; ++k) {  // runs of k for each x: as they are
    for (std::int64_t x = 0; x < i.x.count; x += kSide) {
      std::byte* fractal = to + (a ? x / kSide * k1 + k : k * x1 + x / kSide) * kFractalBytes;
      const std::byte* runs = from + ((i.y.begin / c0 + k) * i.pitch + i.x.begin + x) * kRun;
      const std::int64_t here = std::min(kSide, i.x.count - x);
      code.call(UnitKernel::kRuns, movedBy(runs, fractal, here, kRun, kRun));
      zeros(code, fractal + here * kRun, kSide - here);
    }
  }
  if (i.plain) return;
  alignas(64) std::byte last[kFractalBytes];  // a tail along k, filled up with zeros
  for (std::int64_t x = 0; x < i.x.count; x += c0) {
    // The k blocks of one x block follow each other in L1, and are equally far apart in L0.
    std::byte* first = to + (a ? x / kSide * k1 : x / kSide) * kFractalBytes + x % kSide * kRun;
    const std::byte* runs = from + ((i.x.begin + x) / c0 * i.pitch + i.y.begin) * kRun;
    const std::int64_t whole = i.y.count / c0, next = (a ? 1 : x1) * kFractalBytes;
    if (whole > 0) code.call(UnitKernel::kTurn, movedBy(runs, first, whole, c0 * kRun, next));
    if (whole == k1) continue;
    const std::int64_t rest = i.y.count - whole * c0;
    code.call(UnitKernel::kRuns, movedBy(runs + whole * c0 * kRun, last, rest, kRun, kRun));
    zeros(code, last + rest * kRun, kSide - rest);
    code.call(UnitKernel::kTurn, movedBy(last, first + whole * next, 1, 0, 0));
  }
  if (i.x.count % kSide == 0) return;
  for (std::int64_t k = 0; k < k1; ++k) {
    std::byte* half = to + (a ? (x1 - 1) * k1 + k : k * x1 + x1 - 1) * kFractalBytes;
    zeros(code, half + i.x.count % kSide * kRun, kSide - i.x.count % kSide);
  }
}

}  // namespace cubejit
