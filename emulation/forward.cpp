// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the copies. Panels: A is [m1][k1][16 m][c0 k], B is [n1][k1][c0 k][16 n], f32.
#include "emulation/forward.h"

#include <cstring>

#include "emulation/tap_window.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32;

// Floats from the beginning of a panel to where the fractals at a byte of L0 go.
std::int64_t placeOf(std::int64_t l0, const UnitContext& c) { return l0 / c.work.elementBytes; }

void widen(const UnitCode& code, UnitKernel kernel, const std::byte* from, float* to, std::int64_t repeat,
           std::int64_t fromPitch, std::int64_t toPitch) {
  if (repeat <= 0) return;
  KernelArgs args;
  args.a = from;
  args.c = to;
  args.repeat = repeat;
  args.aRepeat = fromPitch;
  args.cRepeat = toPitch * 4;
  code.call(kernel, args);
}

void zeroRows(float* to, std::int64_t rows, std::int64_t pitch, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) std::memset(to + r * pitch, 0, static_cast<std::size_t>(columns * 4));
}

// Runs of pixels, c0 values each, to rows `pitch` floats apart; zero where a tap sees nothing.
void widenSeen(const UnitCode& code, const TapWindow& window, std::int64_t first, std::int64_t count, std::int64_t c0,
               float* to, std::int64_t pitch) {
  window.eachRow(first, count, [&](std::int64_t offset, const SeenRow& seen, std::int64_t here) {
    float* rows = to + offset * pitch;
    zeroRows(rows, seen.begin, pitch, c0);
    widen(code, UnitKernel::kWidenRuns, seen.first, rows + seen.begin * pitch, seen.end - seen.begin, seen.pitch,
          pitch);
    zeroRows(rows + seen.end * pitch, here - seen.end, pitch, c0);
  });
}

}  // namespace

void forward(const UnitCode& code, const Unfold& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0;
  TapWindow window(i, c, memory);
  if (i.side == L0Side::kA) {
    float* to = panels.a.get() + placeOf(i.l0, c);
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      window.setUnit(i.units.begin + u);
      for (std::int64_t p = 0; p < i.pixels.count; p += kSide) {
        float* fractal = to + (p / kSide * i.units.count + u) * kSide * c0;
        const std::int64_t count = std::min(kSide, i.pixels.count - p);
        widenSeen(code, window, i.pixels.begin + p, count, c0, fractal, c0);
        zeroRows(fractal + count * c0, kSide - count, c0, c0);
      }
    }
    return;
  }
  // Pixels are k: rows of 16 n; the k blocks of one n block follow each other.
  const std::int64_t ks = roundUp(i.pixels.count, c0), n = i.units.count * c0;
  float* to = panels.b.get() + placeOf(i.l0, c);
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    window.setUnit(i.units.begin + u);
    float* column = to + u * c0 / kSide * ks * kSide + u * c0 % kSide;
    widenSeen(code, window, i.pixels.begin, i.pixels.count, c0, column, kSide);
    zeroRows(column + i.pixels.count * kSide, ks - i.pixels.count, kSide, c0);
  }
  if (n % kSide != 0) zeroRows(to + n / kSide * ks * kSide + n % kSide, ks, kSide, kSide - n % kSide);
}

void forward(const UnitCode& code, const LoadFractals& i, const UnitContext& c, CubePanels& panels,
             CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0, ks = roundUp(i.y.count, c0);
  const std::byte* from = memory.at(CoreBuffer::kL1, i.l1);
  const bool a = i.side == L0Side::kA;
  float* to = (a ? panels.a : panels.b).get() + placeOf(i.l0, c);
  if (i.plain) {  // [k / c0][n][c0 k] to rows of n: transposed, 16 n at a time
    const std::int64_t n = roundUp(i.x.count, kSide);
    alignas(64) std::byte runs[kSide * kRun];
    for (std::int64_t k = 0; k < ks; k += c0) {
      for (std::int64_t x = 0; x < n; x += kSide) {
        const std::byte* block = from + ((i.y.begin + k) / c0 * i.pitch + i.x.begin + x) * kRun;
        const std::int64_t here = std::min(kSide, i.x.count - x);
        if (here < kSide) {
          std::memset(runs, 0, sizeof(runs));
          std::memcpy(runs, block, static_cast<std::size_t>(here * kRun));
          block = runs;
        }
        widen(code, UnitKernel::kWidenB, block, to + (x / kSide * ks + k) * kSide, 1, 0, 0);
      }
    }
    return;
  }
  for (std::int64_t x = 0; x < i.x.count; x += c0) {
    const std::byte* runs = from + ((i.x.begin + x) / c0 * i.pitch + i.y.begin) * kRun;
    if (!a) {  // runs of n for each k: as they are
      float* column = to + x / kSide * ks * kSide + x % kSide;
      widen(code, UnitKernel::kWidenRuns, runs, column, i.y.count, kRun, kSide);
      zeroRows(column + i.y.count * kSide, ks - i.y.count, kSide, c0);
      continue;
    }
    const std::int64_t whole = i.y.count / c0;
    float* first = to + x / kSide * ks * kSide + x % kSide * c0;
    widen(code, UnitKernel::kWidenTurned, runs, first, whole, c0 * kRun, kSide * c0);
    if (whole * c0 == ks) continue;
    alignas(64) std::byte last[kSide * kRun] = {};
    std::memcpy(last, runs + whole * c0 * kRun, static_cast<std::size_t>((i.y.count - whole * c0) * kRun));
    widen(code, UnitKernel::kWidenTurned, last, first + whole * kSide * c0, 1, 0, 0);
  }
  const std::int64_t rest = i.x.count % kSide;
  if (rest == 0) return;
  if (!a) return zeroRows(to + i.x.count / kSide * ks * kSide + rest, ks, kSide, kSide - rest);
  for (std::int64_t k = 0; k < ks; k += c0)
    zeroRows(to + i.x.count / kSide * ks * kSide + k * kSide + rest * c0, kSide - rest, c0, c0);
}

void multiplyForwarded(const UnitCode& code, const Mmad& i, const UnitContext& c, CubePanels& panels,
                       CoreMemory& memory) {
  multiplyPanels(code, i, c, panels.a.get() + placeOf(i.l0a, c), panels.b.get() + placeOf(i.l0b, c), memory);
}

}  // namespace cubejit
