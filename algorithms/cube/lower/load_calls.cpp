// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides loads from memory to L1: rows of c0 channels of one pixel, or of c0 weights.
#include <algorithm>

#include "algorithms/cube/lower/unit_calls.h"
#include "tiling/rounding.h"

namespace cubejit {
// How many channels exist in block `block` of the task's real group.
std::vector<std::int64_t> UnitCalls::channelOffsets(bool image, std::int64_t block) const {
  const ChannelRange channels = channelsOf(job_, image && !w_.spread, task_.group);
  const std::int64_t count = std::clamp<std::int64_t>(channels.count - block * w_.c0, 0, w_.c0);
  return offsetsOf(image ? t_.imageMap : t_.otherMap, 1, channels.first + block * w_.c0, count);
}

void UnitCalls::load(const LoadImage& i, CallSequence& calls) {
  const IndexMap& map = t_.imageMap;
  const std::int64_t stepH = w_.spread ? w_.stride.h : 1, stepW = w_.spread ? w_.stride.w : 1;
  const std::int64_t row0 = roundUp(i.rows.begin, stepH), column0 = roundUp(i.columns.begin, stepW);
  const std::int64_t columns = std::max<std::int64_t>(0, ceilDiv(i.columns.end() - column0, stepW));
  const std::int64_t base = map.along(0, task_.image) + map.along(2, i.depth);
  const std::int64_t rowBytes = i.columns.count * kRun, rowPitch = strideOf(map, 3), columnPitch = strideOf(map, 4);
  ChannelMoves moves(lanes_, word_, word_, "gm_to_l1");
  bool filled = stepH == 1 && stepW == 1;
  // Rows that follow each other evenly are one line.
  const bool oneLine = stepH == 1 && stepW == 1 && rowPitch == i.columns.count * columnPitch && i.rows.count > 1;
  for (std::int64_t block = 0; block < i.blocks.count && columns > 0; ++block) {
    const std::vector<ChannelRun> runs = channelRuns(channelOffsets(true, i.blocks.begin + block));
    if (runs.empty()) filled = false;
    for (std::int64_t r = row0; r < i.rows.end(); r += stepH) {
      RowLine line;
      line.tensor = base + r / stepH * rowPitch + column0 / stepW * columnPitch;
      line.buffer = (block * i.rows.count + r - i.rows.begin) * rowBytes + (column0 - i.columns.begin) * kRun;
      line.count = oneLine ? i.rows.count * columns : columns;
      line.tensorPitch = columnPitch;
      line.bufferPitch = stepW * kRun;
      filled = filled && ChannelMoves::fillsRows(runs, w_.c0, line);
      moves.load(runs, w_.c0, line);
      if (oneLine) break;
    }
  }
  if (!filled) zeroBytes(calls, "load_image", lanes_, i.rows.count * rowBytes * i.blocks.count, {s_.l1, i.l1});
  moves.emit(calls, "load_image", {s_.image, 0}, {s_.l1, i.l1});
}

void UnitCalls::load(const LoadPixels& i, CallSequence& calls) {
  const IndexMap& map = t_.otherMap;
  const std::int64_t width = w_.pixels.w, blocks = ceilDiv(i.channels.count, w_.c0);
  const std::int64_t base = map.along(0, task_.image) + map.along(2, i.depth);
  const std::int64_t rowPitch = strideOf(map, 3), columnPitch = width > 1 ? strideOf(map, 4) : rowPitch;
  const bool oneLine = width == 1 || rowPitch == width * columnPitch || w_.pixels.h == 1;
  ChannelMoves moves(lanes_, word_, word_, "gm_to_l1");
  bool filled = true;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::vector<ChannelRun> runs = channelRuns(channelOffsets(false, i.channels.begin / w_.c0 + block));
    if (runs.empty()) filled = false;
    for (std::int64_t p = 0; p < i.pixels.count;) {
      const std::int64_t pixel = i.pixels.begin + p, column = pixel % width;
      RowLine line;
      line.tensor = base + pixel / width * rowPitch + (width > 1 ? column * columnPitch : 0);
      line.buffer = (block * i.pixels.count + p) * kRun;
      line.count = oneLine ? i.pixels.count - p : std::min(i.pixels.count - p, width - column);
      line.tensorPitch = columnPitch;
      line.bufferPitch = kRun;
      filled = filled && ChannelMoves::fillsRows(runs, w_.c0, line);
      moves.load(runs, w_.c0, line);
      p += line.count;
    }
  }
  if (!filled) zeroBytes(calls, "load_pixels", lanes_, blocks * i.pixels.count * kRun, {s_.l1, i.l1});
  moves.emit(calls, "load_pixels", {s_.other, 0}, {s_.l1, i.l1});
}

// In L1 runs of inner channels lie [n / c0][unit, outer channel][c0], or, `plain`, [unit][outer channel][c0].
void UnitCalls::load(const LoadWeights& i, CallSequence& calls) {
  const IndexMap& map = t_.otherMap;
  const std::int64_t c0 = w_.c0, taps = w_.tapsHw, n = roundUp(i.n.count, c0);
  const ChannelRange outer = channelsOf(job_, false, task_.group), inner = channelsOf(job_, true, task_.group);
  const std::int64_t groups = w_.groups.together;
  const std::int64_t depth = map.along(2, i.tapDepth);
  const std::vector<std::int64_t> tapOffsets = offsetsOfTaps(map, w_);
  const auto tapOffset = [&](std::int64_t tap) { return tapOffsets[static_cast<std::size_t>(tap)]; };
  ChannelMoves moves(lanes_, word_, word_, "gm_to_l1");
  bool filled = groups == 1;
  std::int64_t written = 0;

  // Runs of the inner channels [first, first + c0), of which those of one group in `runs`, for the outer channels [begin, end) at
  // the units [unit, unit + count), whose taps follow each other; byte `to` is that of outer channel 0 at the first unit.
  const auto block = [&](std::int64_t first, std::int64_t begin, std::int64_t end, std::int64_t unit,
                         std::int64_t count, std::int64_t to, std::int64_t unitPitch) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t innerBegin = std::max(first, g * inner.ofGroup),
                         innerEnd = std::min({first + c0, (g + 1) * inner.ofGroup, inner.count});
      const std::int64_t outerBegin = std::max(begin, g * outer.ofGroup),
                         outerEnd = std::min({end, (g + 1) * outer.ofGroup, outer.count});
      if (innerBegin >= innerEnd || outerBegin >= outerEnd) continue;
      std::vector<ChannelRun> runs = channelRuns(offsetsOf(map, 1, inner.first + innerBegin, innerEnd - innerBegin));
      for (ChannelRun& run : runs) run.first += innerBegin - first;
      const std::int64_t tap = unit % taps;
      const std::int64_t tapPitch = count > 1 ? tapOffset(tap + 1) - tapOffset(tap) : 0;
      bool even = count > 1 && runs.front().pitch != 1;  // turned with taps as rows
      for (std::int64_t t = 2; even && t < count; ++t) even = tapOffset(tap + t) - tapOffset(tap + t - 1) == tapPitch;
      if (even && tapPitch == 1) {
        for (std::int64_t o = outerBegin; o < outerEnd; ++o) {
          const RowLine line{depth + tapOffset(tap) + map.along(0, outer.first + o), to + o * kRun, count, 1,
                             unitPitch};
          filled = filled && ChannelMoves::fillsRows(runs, c0, line);
          moves.load(runs, c0, line);
          written += count;
        }
        continue;
      }
      for (std::int64_t t = 0; t < count; ++t) {
        evenParts(map, 0, outer.first + outerBegin, outer.first + outerEnd,
                  [&](std::int64_t o, std::int64_t rows, std::int64_t pitch) {
                    const RowLine line{depth + tapOffset(tap + t) + map.along(0, o),
                                       to + t * unitPitch + (o - outer.first) * kRun, rows, pitch, kRun};
                    filled = filled && ChannelMoves::fillsRows(runs, c0, line);
                    moves.load(runs, c0, line);
                    written += rows;
                  });
      }
    }
  };
  for (std::int64_t unit = i.units.begin; unit < i.units.end();) {
    const std::int64_t count = std::min(taps - unit % taps, i.units.end() - unit), summed = unit / taps * c0;
    const std::int64_t at = unit - i.units.begin;
    if (i.plain) {
      block(summed, i.n.begin, i.n.begin + n, unit, count, (at * n - i.n.begin) * kRun, n * kRun);
    } else {
      for (std::int64_t x = 0; x < n; x += c0)
        block(i.n.begin + x, summed, summed + c0, unit, count, ((x / c0 * i.units.count + at) * c0 - summed) * kRun,
              c0 * kRun);
    }
    unit += count;
  }
  if (!filled || written != i.units.count * n)
    zeroBytes(calls, "load_weights", lanes_, i.units.count * c0 * n * w_.elementBytes, {s_.l1, i.l1});
  moves.emit(calls, "load_weights", {s_.other, 0}, {s_.l1, i.l1});
}

}  // namespace cubejit
