// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what loads from L1 to L0A and L0B mean. Fractals are 16 x c0 elements, 512 bytes, rows of 32.
#include <array>
#include <cstring>

#include "tests/support/unit_models/unit_models.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Where rows of fractals lie: row x (m or n) of the k block k1.
struct L0Place {
  std::byte* base;
  std::int64_t x1, k1;
  L0Side side;
  std::byte* row(std::int64_t x, std::int64_t k) const {
    const std::int64_t fractal = side == L0Side::kA ? x / kFractalRows * k1 + k : k * x1 + x / kFractalRows;
    return base + fractal * kFractalBytes + x % kFractalRows * kRun;
  }
};

// to[y][x] = from[x][y], both rows of 32 bytes.
void transposeRuns(const std::byte* from, std::int64_t c0, std::int64_t elementBytes,
                   const std::array<std::byte*, 16>& to) {
  for (std::int64_t x = 0; x < c0; ++x) {
    for (std::int64_t y = 0; y < c0; ++y)
      std::memcpy(to[static_cast<std::size_t>(y)] + x * elementBytes, from + x * kRun + y * elementBytes,
                  static_cast<std::size_t>(elementBytes));
  }
}

L0Place placeOf(L0Side side, std::int64_t offset, std::int64_t x, std::int64_t k, const UnitContext& c,
                CoreMemory& memory) {
  return {memory.at(side == L0Side::kA ? CoreBuffer::kL0a : CoreBuffer::kL0b, offset), ceilDiv(x, kFractalRows),
          ceilDiv(k, c.work.c0), side};
}

// The run in L1 that tap (kh, kw) of `block` sees from a pixel; null outside the image.
class TapWindow {
 public:
  TapWindow(const Unfold& i, const UnitContext& c, const CoreMemory& memory)
      : w_(c.work), piece_(i.piece), from_(memory.at(CoreBuffer::kL1, i.piece.l1)) {}

  const std::byte* run(std::int64_t unit, std::int64_t pixel) const {
    const std::int64_t block = unit / w_.tapsHw, tap = unit % w_.tapsHw;
    const std::int64_t kh = tap / w_.kernel.w * w_.dilation.h, kw = tap % w_.kernel.w * w_.dilation.w;
    const std::int64_t h = pixel / w_.pixels.w, x = pixel % w_.pixels.w;
    const std::int64_t row = (w_.spread ? h + w_.pad.h - kh : h * w_.stride.h + kh - w_.pad.h) - piece_.rows.begin;
    const std::int64_t column =
        (w_.spread ? x + w_.pad.w - kw : x * w_.stride.w + kw - w_.pad.w) - piece_.columns.begin;
    // What is not in the piece is outside the image: pieces hold all that their pixels see.
    if (row < 0 || row >= piece_.rows.count || column < 0 || column >= piece_.columns.count) return nullptr;
    return from_ + (((block - piece_.blocks.begin) * piece_.rows.count + row) * piece_.columns.count + column) * kRun;
  }

 private:
  const CubeWork& w_;
  const LoadImage& piece_;
  const std::byte* from_;
};

}  // namespace

std::int64_t bytesOf(const Unfold& i, const UnitContext& c) {
  if (i.side == L0Side::kA) return roundUp(i.pixels.count, kFractalRows) * i.units.count * kRun;
  return ceilDiv(i.pixels.count, c.work.c0) * ceilDiv(i.units.count * c.work.c0, kFractalRows) * kFractalBytes;
}

std::int64_t bytesOf(const LoadFractals& i, const UnitContext& c) {
  return ceilDiv(i.x.count, kFractalRows) * ceilDiv(i.y.count, c.work.c0) * kFractalBytes;
}

void execute(const Unfold& i, const UnitContext& c, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0;
  const TapWindow window(i, c, memory);
  if (i.side == L0Side::kA) {
    const L0Place to = placeOf(i.side, i.l0, i.pixels.count, i.units.count * c0, c, memory);
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      for (std::int64_t p = 0; p < to.x1 * kFractalRows; ++p) {
        const std::byte* run = p < i.pixels.count ? window.run(i.units.begin + u, i.pixels.begin + p) : nullptr;
        if (run != nullptr)
          std::memcpy(to.row(p, u), run, kRun);
        else
          std::memset(to.row(p, u), 0, kRun);
      }
    }
    return;
  }
  const L0Place to = placeOf(i.side, i.l0, i.units.count * c0, i.pixels.count, c, memory);
  std::memset(to.base, 0, static_cast<std::size_t>(bytesOf(i, c)));
  for (std::int64_t k = 0; k < to.k1; ++k) {
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      std::array<std::byte, 16 * kRun> runs{};
      for (std::int64_t p = 0; p < c0 && k * c0 + p < i.pixels.count; ++p) {
        const std::byte* run = window.run(i.units.begin + u, i.pixels.begin + k * c0 + p);
        if (run != nullptr) std::memcpy(runs.data() + p * kRun, run, kRun);
      }
      std::array<std::byte*, 16> rows{};
      for (std::int64_t n = 0; n < c0; ++n) rows[static_cast<std::size_t>(n)] = to.row(u * c0 + n, k);
      transposeRuns(runs.data(), c0, c.work.elementBytes, rows);
    }
  }
}

void execute(const LoadFractals& i, const UnitContext& c, CoreMemory& memory) {
  const std::int64_t c0 = c.work.c0;
  const L0Place to = placeOf(i.side, i.l0, i.x.count, i.y.count, c, memory);
  const std::byte* from = memory.at(CoreBuffer::kL1, i.l1);
  std::memset(to.base, 0, static_cast<std::size_t>(bytesOf(i, c)));
  for (std::int64_t k = 0; k < to.k1; ++k) {
    if (i.plain) {
      const std::byte* block = from + ((i.y.begin / c0 + k) * i.pitch + i.x.begin) * kRun;
      for (std::int64_t x = 0; x < i.x.count; ++x) std::memcpy(to.row(x, k), block + x * kRun, kRun);
      continue;
    }
    const std::int64_t ys = std::min(c0, i.y.count - k * c0);
    for (std::int64_t x = 0; x < i.x.count; x += c0) {
      std::array<std::byte, 16 * kRun> runs{};
      std::memcpy(runs.data(), from + ((i.x.begin + x) / c0 * i.pitch + i.y.begin + k * c0) * kRun,
                  static_cast<std::size_t>(ys * kRun));
      std::array<std::byte*, 16> rows{};
      for (std::int64_t n = 0; n < c0; ++n) rows[static_cast<std::size_t>(n)] = to.row(x + n, k);
      transposeRuns(runs.data(), c0, c.work.elementBytes, rows);
    }
  }
}

}  // namespace cubejit
