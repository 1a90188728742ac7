// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what loads from memory to L1 mean. A run of 32 bytes is c0 channels of one pixel, or c0 weights.
#include <cstring>

#include "emulation/unit_models.h"
#include "tiling/npu/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kRun = 32;

// c0 channels of one block at an address of memory; channels that do not exist are zero.
void copyRun(std::byte* to, const ActivationTable& t, std::int64_t block, std::int64_t rest, std::int64_t c0,
             std::int64_t elementBytes) {
  const auto first = static_cast<std::size_t>(block * c0);
  if (t.blocksTogether && first + static_cast<std::size_t>(c0) <= t.channel.size() &&
      t.channel[first + static_cast<std::size_t>(c0) - 1] != kMissing) {
    std::memcpy(to, t.data + (t.channel[first] + rest) * elementBytes, kRun);
    return;
  }
  std::memset(to, 0, kRun);
  for (std::int64_t c = 0; c < c0; ++c) {
    const auto at = first + static_cast<std::size_t>(c);
    if (at < t.channel.size() && t.channel[at] != kMissing)
      std::memcpy(to + c * elementBytes, t.data + (t.channel[at] + rest) * elementBytes,
                  static_cast<std::size_t>(elementBytes));
  }
}

std::int64_t at(const std::vector<std::int64_t>& table, std::int64_t i) { return table[static_cast<std::size_t>(i)]; }

}  // namespace

std::int64_t bytesOf(const LoadImage& i, const UnitContext&) {
  return i.rows.count * i.columns.count * i.blocks.count * kRun;
}
std::int64_t bytesOf(const LoadWeights& i, const UnitContext& c) {
  const std::int64_t c0 = c.work.c0;
  return i.units.count * c0 * roundUp(i.n.count, c0) * c.work.elementBytes;
}
std::int64_t bytesOf(const LoadPixels& i, const UnitContext& c) {
  return ceilDiv(i.channels.count, c.work.c0) * i.pixels.count * kRun;
}

std::int64_t memoryBytesOf(const LoadImage& i, const UnitContext& c) {
  const auto onGrid = [&](const Span& s, std::int64_t step) {
    return c.work.spread ? ceilDiv(s.end(), step) - ceilDiv(s.begin, step) : s.count;
  };
  return onGrid(i.rows, c.work.stride.h) * onGrid(i.columns, c.work.stride.w) * i.blocks.count * kRun;
}

void execute(const LoadImage& i, const UnitContext& c, CoreMemory& memory) {
  const ActivationTable& t = c.tables.image;
  const std::int64_t stepH = c.work.spread ? c.work.stride.h : 1, stepW = c.work.spread ? c.work.stride.w : 1;
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  if (stepH > 1 || stepW > 1) std::memset(to, 0, static_cast<std::size_t>(bytesOf(i, c)));
  const std::int64_t firstRow = roundUp(i.rows.begin, stepH), firstColumn = roundUp(i.columns.begin, stepW);
  for (std::int64_t b = 0; b < i.blocks.count; ++b) {
    for (std::int64_t r = firstRow; r < i.rows.end(); r += stepH) {
      std::byte* row = to + (b * i.rows.count + r - i.rows.begin) * i.columns.count * kRun;
      const std::int64_t rowAt = at(t.depth, i.depth) + at(t.row, r / stepH);
      for (std::int64_t x = firstColumn; x < i.columns.end(); x += stepW)
        copyRun(row + (x - i.columns.begin) * kRun, t, i.blocks.begin + b, rowAt + at(t.column, x / stepW), c.work.c0,
                c.work.elementBytes);
    }
  }
}

void execute(const LoadPixels& i, const UnitContext& c, CoreMemory& memory) {
  const ActivationTable& t = c.tables.pixels;
  const std::int64_t c0 = c.work.c0, width = c.work.pixels.w, depth = at(t.depth, i.depth);
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  for (std::int64_t b = 0; b < ceilDiv(i.channels.count, c0); ++b) {
    for (std::int64_t p = i.pixels.begin; p < i.pixels.end(); ++p, to += kRun)
      copyRun(to, t, i.channels.begin / c0 + b, depth + at(t.row, p / width) + at(t.column, p % width), c0,
              c.work.elementBytes);
  }
}

void execute(const LoadWeights& i, const UnitContext& c, CoreMemory& memory) {
  const WeightTable& t = c.tables.weights;
  const std::int64_t c0 = c.work.c0, e = c.work.elementBytes, taps = c.work.tapsHw, depth = at(t.depth, i.tapDepth);
  const std::int64_t k = i.units.count * c0, nBlocks = ceilDiv(i.n.count, c0), n = nBlocks * c0;
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  std::memset(to, 0, static_cast<std::size_t>(bytesOf(i, c)));
  // An ordinary convolution sums over the outer channels and results are inner ones; a transposed one the other way round.
  const std::vector<std::int64_t>& along = c.work.spread ? t.outer : t.inner;
  const std::vector<std::int64_t>& across = c.work.spread ? t.inner : t.outer;
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    const std::int64_t unit = i.units.begin + u, rest = depth + at(t.tap, unit % taps);
    for (std::int64_t kc = 0; kc < c0; ++kc) {
      const std::int64_t sum = unit / taps * c0 + kc;
      if (sum >= static_cast<std::int64_t>(along.size())) continue;
      for (std::int64_t nc = 0; nc < n; ++nc) {
        const std::int64_t result = i.n.begin + nc;
        if (result >= static_cast<std::int64_t>(across.size())) break;
        if (!(c.work.spread ? t.pairExists(sum, result) : t.pairExists(result, sum))) continue;
        const std::int64_t kAt = u * c0 + kc;
        const std::int64_t place = i.plain ? (kAt / c0 * n + nc) * c0 + kAt % c0 : (nc / c0 * k + kAt) * c0 + nc % c0;
        std::memcpy(to + place * e, t.data + (at(along, sum) + at(across, result) + rest) * e,
                    static_cast<std::size_t>(e));
      }
    }
  }
}

}  // namespace cubejit
