// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by runs of pixels: of a run a tap sees elements of one row of the image, neighbours there.
#include "emulation/seen_fractals.h"

#include <algorithm>
#include <bit>

#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16;

// The remainders of the spans' numbers, ascending.
std::vector<std::int64_t> residues(const std::vector<Span>& spans, std::int64_t stride) {
  std::vector<std::int64_t> found;
  for (const Span& range : spans) {
    const std::int64_t end = range.begin + std::min(range.count, stride);
    for (std::int64_t x = range.begin; x < end; ++x) found.push_back(x % stride);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void orderPixels(const Span& pixels, const CubeWork& w, SeenFractals& seen) {
  if (seen.pixels == pixels && seen.rowLength == w.row() && seen.strideH == w.stride.h && seen.strideW == w.stride.w)
    return;
  seen.pixels = pixels;
  seen.rowLength = w.row();
  seen.strideH = w.stride.h;
  seen.strideW = w.stride.w;
  seen.runs.clear();
  const std::int64_t h0 = pixels.begin / w.row(), h1 = (pixels.end() - 1) / w.row();
  const auto columnsOf = [&](std::int64_t h) {
    const std::int64_t begin = std::max<std::int64_t>(0, pixels.begin - h * w.row());
    return Span{begin, std::min(w.row(), pixels.end() - h * w.row()) - begin};
  };
  // Strides may be longer than the image: only classes that have pixels here are looked at.
  std::vector<Span> columns;
  for (std::int64_t h = h0; h <= h1; ++h) columns.push_back(columnsOf(h));
  const std::vector<std::int64_t> classesW = residues(columns, w.stride.w);
  std::int64_t position = 0;
  for (const std::int64_t classH : residues({Span{h0, h1 + 1 - h0}}, w.stride.h)) {
    for (const std::int64_t classW : classesW) {
      for (std::int64_t h = roundUp(std::max<std::int64_t>(0, h0 - classH), w.stride.h) + classH; h <= h1;
           h += w.stride.h) {
        const Span here = columnsOf(h);
        const std::int64_t x = roundUp(std::max<std::int64_t>(0, here.begin - classW), w.stride.w) + classW;
        if (x >= here.end()) continue;
        seen.runs.push_back({h, x, ceilDiv(here.end() - x, w.stride.w), position});
        position += seen.runs.back().count;
      }
    }
  }
}

// Ranges from runs, which follow each other; where two meet within kSeenRows rows, those rows are of both.
void findRanges(SeenFractals& seen) {
  const auto words = static_cast<std::size_t>(seen.words());
  seen.ranges.clear();
  seen.bits.clear();
  const auto add = [&](std::int64_t begin, std::int64_t end, const std::uint64_t* taken) {
    if (begin >= end) return;
    const bool same =
        !seen.ranges.empty() && std::equal(taken, taken + words, seen.bits.end() - static_cast<std::ptrdiff_t>(words));
    if (same) {
      seen.ranges.back().end = end;
      return;
    }
    seen.ranges.push_back({begin, end});
    seen.bits.insert(seen.bits.end(), taken, taken + words);
  };
  std::int64_t row = 0;
  for (std::size_t r = 0; r < seen.runs.size(); ++r) {
    const std::int64_t end = seen.runs[r].position + seen.runs[r].count;
    const std::uint64_t* taken = seen.ofRuns.data() + r * words;
    const bool last = r + 1 == seen.runs.size();
    const std::int64_t whole = last ? roundUp(end, kSeenRows) : end / kSeenRows * kSeenRows;
    add(row, whole, taken);
    row = std::max(row, whole);
    if (last || end == row || seen.runs[r + 1].position / kSeenRows * kSeenRows != row) continue;
    std::vector<std::uint64_t>& both = seen.shared;
    both.assign(words, 0);
    std::size_t s = r;
    while (s > 0 && seen.runs[s - 1].position + seen.runs[s - 1].count > row) --s;
    for (; s < seen.runs.size() && seen.runs[s].position < row + kSeenRows; ++s) {
      for (std::size_t i = 0; i < words; ++i) both[i] |= seen.ofRuns[s * words + i];
    }
    add(row, row + kSeenRows, both.data());
    row += kSeenRows;
  }
  seen.count = 0;
  for (const std::uint64_t word : seen.bits) seen.count += std::popcount(word);
}

}  // namespace

bool leavesFractalsUnseen(const CubeWork& w) {
  return w.gradient == Gradient::kDx && w.spread && w.stride.h * w.stride.w > 1;
}

void findSeen(const Unfold& i, const CubeWork& w, SeenFractals& seen) {
  orderPixels(i.pixels, w, seen);
  seen.units = i.units.count;
  seen.m1 = ceilDiv(i.pixels.count, kSide);
  seen.ofRuns.assign(seen.runs.size() * static_cast<std::size_t>(seen.words()), 0);
  seen.spans.clear();
  const LoadImage& piece = i.piece;
  for (std::int64_t u = 0; u < seen.units; ++u) {
    const std::int64_t tap = (i.units.begin + u) % w.tapsHw;
    const std::int64_t shiftH = w.pad.h - tap / w.kernel.w * w.dilation.h;
    const std::int64_t shiftW = w.pad.w - tap % w.kernel.w * w.dilation.w;
    for (std::size_t r = 0; r < seen.runs.size(); ++r) {
      const ClassRun& run = seen.runs[r];
      const std::int64_t row = run.h + shiftH, column = run.x + shiftW;
      if (row < piece.rows.begin || row >= piece.rows.end() || row % w.stride.h != 0 || column % w.stride.w != 0)
        continue;
      const std::int64_t last = piece.columns.end() - 1 - column;
      if (last < 0) continue;
      const std::int64_t first = ceilDiv(std::max<std::int64_t>(0, piece.columns.begin - column), w.stride.w);
      const std::int64_t end = std::min(run.count, last / w.stride.w + 1);
      if (first >= end) continue;
      seen.spans.push_back({u, run.position + first, end - first, row - piece.rows.begin,
                            column + first * w.stride.w - piece.columns.begin});
      seen.ofRuns[r * static_cast<std::size_t>(seen.words()) + static_cast<std::size_t>(u / 64)] |= std::uint64_t{1}
                                                                                                    << (u % 64);
    }
  }
  findRanges(seen);
}

void orderByPixels(const UnitCode& code, const SeenFractals& seen, std::int64_t n1, float* sums, float* room) {
  constexpr std::int64_t kRowBytes = kSide * 4;
  for (std::int64_t n = 0; n < n1; ++n) {
    float* column = sums + n * seen.m1 * kSide * kSide;
    for (const ClassRun& run : seen.runs) {
      const std::int64_t pixel = run.h * seen.rowLength + run.x - seen.pixels.begin;
      code.call(UnitKernel::kOutF32, movedBy(column + run.position * kSide, room + pixel * kSide, run.count, kRowBytes,
                                             seen.strideW * kRowBytes));
    }
    code.call(UnitKernel::kOutF32, movedBy(room, column, seen.pixels.count, kRowBytes, kRowBytes));
  }
}

}  // namespace cubejit
