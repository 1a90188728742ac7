// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which calls of the kernels an instruction is.
#include "emulation/unit_code.h"

#include <algorithm>
#include <cstring>

#include "tiling/npu/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32, kFractalBytes = 512;

KernelArgs argsOf(const void* a, void* c, std::int64_t repeat, std::int64_t aRepeat, std::int64_t cRepeat) {
  KernelArgs args;
  args.a = a;
  args.c = c;
  args.repeat = repeat;
  args.aRepeat = aRepeat;
  args.cRepeat = cRepeat;
  return args;
}

// What tap (kh, kw) sees of one row of pixels: which of them are inside the image, and where the first one's run is in L1.
struct SeenRow {
  std::int64_t begin = 0, end = 0;  ///< of the pixels asked for, those inside
  const std::byte* first = nullptr;
  std::int64_t pitch = kRun;  ///< bytes from one pixel's run to the next one's
};

class TapWindow {
 public:
  TapWindow(const Unfold& i, const UnitContext& c, const CoreMemory& memory)
      : w_(c.work), piece_(i.piece), from_(memory.at(CoreBuffer::kL1, i.piece.l1)) {}

  void setUnit(std::int64_t unit) {
    const std::int64_t tap = unit % w_.tapsHw;
    kh_ = tap / w_.kernel.w * w_.dilation.h;
    kw_ = tap % w_.kernel.w * w_.dilation.w;
    block_ = unit / w_.tapsHw - piece_.blocks.begin;
  }

  // Pixels [x, x + count) of the row h.
  SeenRow see(std::int64_t h, std::int64_t x, std::int64_t count) const {
    const std::int64_t row = (w_.spread ? h + w_.pad.h - kh_ : h * w_.stride.h + kh_ - w_.pad.h) - piece_.rows.begin;
    SeenRow seen;
    if (row < 0 || row >= piece_.rows.count) return seen;
    const std::int64_t step = w_.spread ? 1 : w_.stride.w;
    const std::int64_t column = (w_.spread ? x + w_.pad.w - kw_ : x * step + kw_ - w_.pad.w) - piece_.columns.begin;
    seen.begin = column >= 0 ? 0 : std::min(count, ceilDiv(-column, step));
    seen.end = std::max(
        seen.begin, std::min(count, column >= piece_.columns.count ? std::int64_t{0}
                                                                   : (piece_.columns.count - 1 - column) / step + 1));
    seen.pitch = step * kRun;
    seen.first =
        from_ + ((block_ * piece_.rows.count + row) * piece_.columns.count + column + seen.begin * step) * kRun;
    return seen;
  }

 private:
  const CubeWork& w_;
  const LoadImage& piece_;
  const std::byte* from_;
  std::int64_t kh_ = 0, kw_ = 0, block_ = 0;
};

// Runs of the pixels [first, first + count) as tap `window` sees them, one after the other at `to`.
void gather(const UnitCode& code, const TapWindow& window, const CubeWork& w, std::int64_t first, std::int64_t count,
            std::byte* to) {
  while (count > 0) {
    const std::int64_t x = first % w.row(), here = std::min(count, w.row() - x);
    const SeenRow seen = window.see(first / w.row(), x, here);
    if (seen.begin > 0) std::memset(to, 0, static_cast<std::size_t>(seen.begin * kRun));
    if (seen.end > seen.begin)
      code.call(UnitKernel::kRuns, argsOf(seen.first, to + seen.begin * kRun, seen.end - seen.begin, seen.pitch, kRun));
    if (seen.end < here) std::memset(to + seen.end * kRun, 0, static_cast<std::size_t>((here - seen.end) * kRun));
    first += here;
    count -= here;
    to += here * kRun;
  }
}

}  // namespace

void execute(const UnitCode& code, const Mmad& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0, fractal = kSide * c0;  // elements
  code.call(UnitKernel::kWidenA,
            argsOf(memory.at(CoreBuffer::kL0a, i.l0a), panels.a.get(), i.m1 * i.k1, kFractalBytes, fractal * 4));
  // [segments of the only section], then the segment: k1 fractals of A and of B, one after the other.
  const std::int64_t list[] = {1, 0, 0, i.k1};
  for (std::int64_t n = 0; n < i.n1; ++n) {
    float* b = panels.b.get() + n * i.k1 * fractal;
    code.call(UnitKernel::kWidenB, argsOf(memory.at(CoreBuffer::kL0b, i.l0b + n * kFractalBytes), b, i.k1,
                                          i.n1 * kFractalBytes, fractal * 4));
    for (std::int64_t row = 0; row < kSide; row += code.rows) {
      KernelArgs args = argsOf(panels.a.get() + row * c0, memory.l0c(i.l0c) + (n * i.m1 * kSide + row) * kSide, i.m1,
                               i.k1 * fractal * 4, kSide * kSide * 4);
      args.b = b;
      args.list = list;
      args.accumulate = i.first ? 0 : 1;
      code.call(UnitKernel::kMmad, args);
    }
  }
}

void execute(const UnitCode& code, const Unfold& i, const UnitContext& c, CoreMemory& memory) {
  const CubeWork& w = c.work;
  const std::int64_t c0 = w.c0;
  TapWindow window(i, c, memory);
  if (i.side == L0Side::kA) {
    std::byte* to = memory.at(CoreBuffer::kL0a, i.l0);
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      window.setUnit(i.units.begin + u);
      for (std::int64_t p = 0; p < i.pixels.count; p += kSide) {
        std::byte* fractal = to + (p / kSide * i.units.count + u) * kFractalBytes;
        const std::int64_t count = std::min(kSide, i.pixels.count - p);
        gather(code, window, w, i.pixels.begin + p, count, fractal);
        if (count < kSide) std::memset(fractal + count * kRun, 0, static_cast<std::size_t>((kSide - count) * kRun));
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
      gather(code, window, w, i.pixels.begin + k * c0, count, runs);
      if (count < c0) std::memset(runs + count * kRun, 0, static_cast<std::size_t>((c0 - count) * kRun));
      const std::int64_t n = u * c0;
      code.call(UnitKernel::kTurn, argsOf(runs, to + (k * n1 + n / kSide) * kFractalBytes + n % kSide * kRun, 1, 0, 0));
    }
  }
  if (i.units.count * c0 % kSide == 0) return;
  for (std::int64_t k = 0; k < k1; ++k)  // f32: half of the last fractal
    std::memset(to + (k * n1 + n1 - 1) * kFractalBytes + c0 * kRun, 0, static_cast<std::size_t>((kSide - c0) * kRun));
}

void execute(const UnitCode& code, const LoadFractals& i, const UnitContext& c, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0, x1 = ceilDiv(i.x.count, kSide), k1 = ceilDiv(i.y.count, c0);
  if (i.plain) return execute(i, c, memory);
  const bool a = i.side == L0Side::kA;
  std::byte* to = memory.at(a ? CoreBuffer::kL0a : CoreBuffer::kL0b, i.l0);
  const std::byte* from = memory.at(CoreBuffer::kL1, i.l1);
  alignas(64) std::byte last[kFractalBytes];  // a tail along k, filled up with zeros
  for (std::int64_t x = 0; x < i.x.count; x += c0) {
    // The k blocks of one x block follow each other in L1, and are equally far apart in L0.
    std::byte* first = to + (a ? x / kSide * k1 : x / kSide) * kFractalBytes + x % kSide * kRun;
    const std::byte* runs = from + ((i.x.begin + x) / c0 * i.pitch + i.y.begin) * kRun;
    const std::int64_t whole = i.y.count / c0, next = (a ? 1 : x1) * kFractalBytes;
    if (whole > 0) code.call(UnitKernel::kTurn, argsOf(runs, first, whole, c0 * kRun, next));
    if (whole == k1) continue;
    std::fill(std::begin(last), std::end(last), std::byte{0});
    std::memcpy(last, runs + whole * c0 * kRun, static_cast<std::size_t>((i.y.count - whole * c0) * kRun));
    code.call(UnitKernel::kTurn, argsOf(last, first + whole * next, 1, 0, 0));
  }
  if (i.x.count % kSide == 0) return;
  for (std::int64_t k = 0; k < k1; ++k) {
    std::byte* half = to + (a ? (x1 - 1) * k1 + k : k * x1 + x1 - 1) * kFractalBytes;
    std::memset(half + i.x.count % kSide * kRun, 0, static_cast<std::size_t>((kSide - i.x.count % kSide) * kRun));
  }
}

}  // namespace cubejit
