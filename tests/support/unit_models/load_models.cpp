// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what loads from memory to L1 mean. A run of 32 bytes is c0 channels of one pixel, or c0 weights.
#include <cstring>

#include "tests/support/unit_models/unit_models.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// c0 channels of one block at an address of memory; channels that do not exist are zero.
void copyRun(std::byte* to, const ActivationTable& t, std::int64_t block, std::int64_t rest, const CubeWork& w) {
  std::memset(to, 0, kRun);
  for (std::int64_t c = 0; c < w.c0; ++c) {
    const auto channel = static_cast<std::size_t>(block * w.c0 + c);
    if (channel < t.channel.size() && t.channel[channel] != kMissing)
      std::memcpy(to + c * w.elementBytes, t.data + (t.channel[channel] + rest) * w.elementBytes,
                  static_cast<std::size_t>(w.elementBytes));
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
  for (std::int64_t b = i.blocks.begin; b < i.blocks.end(); ++b) {
    for (std::int64_t r = i.rows.begin; r < i.rows.end(); ++r) {
      for (std::int64_t x = i.columns.begin; x < i.columns.end(); ++x, to += kRun) {
        if (r % stepH == 0 && x % stepW == 0)
          copyRun(to, t, b, at(t.depth, i.depth) + at(t.row, r / stepH) + at(t.column, x / stepW), c.work);
        else
          std::memset(to, 0, kRun);
      }
    }
  }
}

void execute(const LoadPixels& i, const UnitContext& c, CoreMemory& memory) {
  const ActivationTable& t = c.tables.pixels;
  const std::int64_t c0 = c.work.c0, width = c.work.pixels.w;
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  for (std::int64_t b = 0; b < ceilDiv(i.channels.count, c0); ++b) {
    for (std::int64_t p = i.pixels.begin; p < i.pixels.end(); ++p, to += kRun)
      copyRun(to, t, i.channels.begin / c0 + b, at(t.depth, i.depth) + at(t.row, p / width) + at(t.column, p % width),
              c.work);
  }
}

void execute(const LoadWeights& i, const UnitContext& c, CoreMemory& memory) {
  const WeightTable& t = c.tables.weights;
  const std::int64_t c0 = c.work.c0, taps = c.work.tapsHw, e = c.work.elementBytes;
  const std::int64_t k = i.units.count * c0, n = roundUp(i.n.count, c0);
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  std::memset(to, 0, static_cast<std::size_t>(bytesOf(i, c)));
  for (std::int64_t kk = 0; kk < k; ++kk) {
    for (std::int64_t nn = 0; nn < n; ++nn) {
      const std::int64_t unit = i.units.begin + kk / c0, sum = unit / taps * c0 + kk % c0, result = i.n.begin + nn;
      // An ordinary convolution sums over the outer channels and results are inner ones; a transposed one the other way round.
      const std::int64_t outer = c.work.spread ? sum : result, inner = c.work.spread ? result : sum;
      if (outer >= static_cast<std::int64_t>(t.outer.size()) || inner >= static_cast<std::int64_t>(t.inner.size()) ||
          !t.pairExists(outer, inner))
        continue;
      const std::int64_t place = i.plain ? (kk / c0 * n + nn) * c0 + kk % c0 : (nn / c0 * k + kk) * c0 + nn % c0;
      const std::int64_t from =
          at(t.depth, i.tapDepth) + at(t.tap, unit % taps) + at(t.outer, outer) + at(t.inner, inner);
      std::memcpy(to + place * e, t.data + from * e, static_cast<std::size_t>(e));
    }
  }
}

}  // namespace cubejit
