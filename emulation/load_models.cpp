// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what loads from memory to L1 mean. A run of 32 bytes is c0 channels of one pixel, or c0 weights.
#include <algorithm>
#include <cstring>

#include "emulation/unit_models.h"
#include "tiling/npu/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kRun = 32;

// Whole runs are copied as such; element by element otherwise, where the size is known to the compiler.
void copyWhole(std::byte* to, const std::byte* from) { std::memcpy(to, from, kRun); }

template <class Word>
void copyElements(std::byte* to, const ActivationTable& t, std::size_t first, std::int64_t rest) {
  Word run[kRun / sizeof(Word)] = {};
  for (std::size_t c = 0; c < kRun / sizeof(Word) && first + c < t.channel.size(); ++c) {
    if (t.channel[first + c] != kMissing)
      std::memcpy(&run[c], t.data + (t.channel[first + c] + rest) * static_cast<std::int64_t>(sizeof(Word)),
                  sizeof(Word));
  }
  std::memcpy(to, run, kRun);
}

bool wholeBlock(const ActivationTable& t, std::int64_t block, std::int64_t c0) {
  const auto last = static_cast<std::size_t>((block + 1) * c0 - 1);
  return t.blocksTogether && last < t.channel.size() && t.channel[last] != kMissing;
}

// c0 channels of one block at an address of memory; channels that do not exist are zero.
void copyRun(std::byte* to, const ActivationTable& t, std::int64_t block, std::int64_t rest, std::int64_t c0,
             std::int64_t elementBytes) {
  const auto first = static_cast<std::size_t>(block * c0);
  if (wholeBlock(t, block, c0)) return copyWhole(to, t.data + (t.channel[first] + rest) * elementBytes);
  if (elementBytes == 2) return copyElements<std::uint16_t>(to, t, first, rest);
  copyElements<std::uint32_t>(to, t, first, rest);
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
  const std::int64_t c0 = c.work.c0;
  // In NDC1HWC0 the runs of a row follow each other.
  const bool together = stepW == 1 && i.columns.count > 0 && t.blocksTogether &&
                        at(t.column, i.columns.end() - 1) - at(t.column, i.columns.begin) == (i.columns.count - 1) * c0;
  const std::int64_t firstRow = roundUp(i.rows.begin, stepH), firstColumn = roundUp(i.columns.begin, stepW);
  for (std::int64_t b = 0; b < i.blocks.count; ++b) {
    for (std::int64_t r = firstRow; r < i.rows.end(); r += stepH) {
      std::byte* row = to + (b * i.rows.count + r - i.rows.begin) * i.columns.count * kRun;
      const std::int64_t rowAt = at(t.depth, i.depth) + at(t.row, r / stepH);
      if (together && wholeBlock(t, i.blocks.begin + b, c0)) {
        const std::int64_t first = at(t.channel, (i.blocks.begin + b) * c0) + rowAt + at(t.column, i.columns.begin);
        std::memcpy(row, t.data + first * c.work.elementBytes, static_cast<std::size_t>(i.columns.count * kRun));
        continue;
      }
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

namespace {

// Weights of a chunk: `along` is summed over, `across` are results; see LoadWeights for the order in L1.
template <class Word>
void loadWeights(const LoadWeights& i, const UnitContext& c, const std::vector<std::int64_t>& along,
                 const std::vector<std::int64_t>& across, Word* to) {
  const WeightTable& t = c.tables.weights;
  const auto* from = reinterpret_cast<const Word*>(t.data);
  const std::int64_t c0 = c.work.c0, taps = c.work.tapsHw, depth = at(t.depth, i.tapDepth);
  const std::int64_t k = i.units.count * c0, n = roundUp(i.n.count, c0);
  const std::int64_t results = std::min(n, static_cast<std::int64_t>(across.size()) - i.n.begin);
  const bool all = t.oneGroup;
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    const std::int64_t unit = i.units.begin + u, first = unit / taps * c0;
    const std::int64_t sums = std::min(c0, static_cast<std::int64_t>(along.size()) - first);
    for (std::int64_t kc = 0; kc < sums; ++kc) {
      const std::int64_t base = depth + at(t.tap, unit % taps) + at(along, first + kc);
      Word* place = i.plain ? to + u * n * c0 + kc : to + (u * c0 + kc) * c0;
      const std::int64_t step = i.plain ? c0 * c0 : k * c0, inside = i.plain ? c0 : 1;  // between blocks, within one
      for (std::int64_t nc = 0; nc < results; nc += c0, place += step) {
        const std::int64_t* offsets = across.data() + i.n.begin + nc;
        const std::int64_t here = std::min(c0, results - nc);
        if (all && inside == 1 && here == c0 && offsets[c0 - 1] - offsets[0] == c0 - 1) {
          std::memcpy(place, from + base + offsets[0], kRun);
          continue;
        }
        for (std::int64_t r = 0; r < here; ++r) {
          const std::int64_t sum = first + kc, result = i.n.begin + nc + r;
          if (all || (c.work.spread ? t.pairExists(sum, result) : t.pairExists(result, sum)))
            place[r * inside] = from[base + offsets[r]];
        }
      }
    }
  }
}

}  // namespace

void execute(const LoadWeights& i, const UnitContext& c, CoreMemory& memory) {
  const WeightTable& t = c.tables.weights;
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  std::memset(to, 0, static_cast<std::size_t>(bytesOf(i, c)));
  // An ordinary convolution sums over the outer channels and results are inner ones; a transposed one the other way round.
  const std::vector<std::int64_t>& along = c.work.spread ? t.outer : t.inner;
  const std::vector<std::int64_t>& across = c.work.spread ? t.inner : t.outer;
  if (c.work.elementBytes == 2) return loadWeights(i, c, along, across, reinterpret_cast<std::uint16_t*>(to));
  loadWeights(i, c, along, across, reinterpret_cast<std::uint32_t*>(to));
}

}  // namespace cubejit
