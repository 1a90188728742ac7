// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides places of a block's results.
#include "algorithms/cube/lower/result_calls.h"

#include <algorithm>

#include "algorithms/cube/lower/channel_runs.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kRowBytes = kSide * 4;

// Calls out(first, count, from) for columns of a block whose sums lie at `from`: all, or, where there is no fixpipe, 16 at a time.
template <class Out>
void leaveL0c(const Machine& machine, const CubeStreams& s, std::int64_t rows, std::int64_t columns, std::int64_t l0c,
              int lanes, CallSequence& calls, const Out& out) {
  calls.issue(CoreUnit::kFixpipe);
  if (machine.npu.fixpipe) return out(0, columns, StreamPlace{s.l0c, l0c});
  const std::int64_t held = roundUp(rows, kSide);
  for (std::int64_t n = 0; n < columns; n += kSide) {
    ListedMoves strip;
    strip.add(Copy{.lanes = lanes, .rows = 1, .cols = held * kSide, .label = "l0c_to_ub"}, 0, 0);
    strip.emit(calls, "load_ub", {s.l0c, l0c + n / kSide * held * kRowBytes}, {s.ub, 0});
    out(n, std::min(kSide, columns - n), StreamPlace{s.ub, 0});
  }
}

}  // namespace

void storeBlock(const Machine& machine, const CubeStreams& streams, const BlockPitches& result, std::int64_t rows,
                std::int64_t columns, std::int64_t l0c, int lanes, CallSequence& calls) {
  const std::int64_t fractals = roundUp(rows, kSide) * kRowBytes;
  const auto out = [&](std::int64_t first, std::int64_t count, StreamPlace from) {
    ChannelMoves moves(lanes, elementInMemory(result.type), Element::kF32, "fixpipe");
    for (std::int64_t n = 0; n < count; n += kSide) {
      std::vector<std::int64_t> offsets;
      for (std::int64_t c = first + n; c < first + std::min(n + kSide, count); ++c)
        offsets.push_back(c / result.panel * result.panels + c % result.panel);
      const RowLine line{0, n / kSide * fractals, rows, result.row, kRowBytes};
      result.adds ? moves.accumulate(channelRuns(offsets), line) : moves.store(channelRuns(offsets), line);
    }
    moves.emit(calls, result.adds ? "add" : "store", from, {streams.result, 0});
  };
  leaveL0c(machine, streams, rows, columns, l0c, lanes, calls, out);
}

ResultCalls::ResultCalls(const CubeJob& job, const CubeTensors& tensors, const CubeStreams& streams,
                         const CubeSums& sums, bool add, int lanes)
    : job_(job), w_(job.work), t_(tensors), s_(streams), sums_(sums), add_(add), lanes_(lanes) {}

void ResultCalls::store(const CoreTask& task, const CubeBlock& block, std::int64_t l0c, CallSequence& calls) const {
  const bool dx = w_.pass == Pass::kDx;
  const std::int64_t rows = roundUp(block.m, kSide), fractals = rows * kRowBytes;
  if (!block.computed && (add_ || !dx)) return;
  if (!block.computed) {  // zeros in UB, 16 columns of them
    calls.issue(CoreUnit::kVector);
    ListedMoves zero;
    zero.add(Fill{.lanes = lanes_, .rows = 1, .cols = rows * kSide, .label = "zero"}, 0, 0);
    zero.emit(calls, "zero", {}, {s_.ub, 0});
    calls.issue(CoreUnit::kUbToGm);
    return storeDx(task, block, 0, block.n, {s_.ub, 0}, 0, calls);
  }
  const auto out = [&](std::int64_t first, std::int64_t count, StreamPlace from) {
    dx ? storeDx(task, block, first, count, from, fractals, calls) : addDw(task, block, first, count, from, calls);
  };
  leaveL0c(job_.machine, s_, block.m, block.n, l0c, lanes_, calls, out);
}

void ResultCalls::storeDx(const CoreTask& task, const CubeBlock& block, std::int64_t first, std::int64_t count,
                          StreamPlace from, std::int64_t fractalPitch, CallSequence& calls) const {
  const IndexMap& map = t_.resultMap;
  const DType type = formatOf(job_.problem, TensorId::kDx).dtype;
  const ChannelRange range = channelsOf(job_, w_.spread, task.group);
  const std::int64_t stored = storedChannels(map, range), c0 = task.start.n + block.n0;
  const std::int64_t base = map.along(0, task.image) + map.along(2, task.depth);
  const std::int64_t width = w_.row(), rowPitch = strideOf(map, 3),
                     columnPitch = width > 1 ? strideOf(map, 4) : rowPitch;
  const bool oneLine = rowPitch == width * columnPitch || w_.pixels.h == 1;
  ChannelMoves moves(lanes_, elementInMemory(type), Element::kF32, "fixpipe");
  for (std::int64_t n = first; n < first + count; n += kSide) {
    const std::int64_t channel = c0 + n, end = std::min(c0 + std::min(n + kSide, first + count), stored);
    const std::vector<ChannelRun> runs = channelRuns(offsetsOf(map, 1, range.first + channel, end - channel));
    for (std::int64_t r = 0; r < block.m;) {
      const std::int64_t pixel = task.start.m + block.m0 + r;
      RowLine line;
      line.count = oneLine ? block.m - r : std::min(block.m - r, width - pixel % width);
      line.tensor = base + pixel / width * rowPitch + (width > 1 ? pixel % width * columnPitch : 0);
      line.buffer = (n - first) / kSide * fractalPitch + r * kRowBytes;
      line.tensorPitch = columnPitch;
      line.bufferPitch = kRowBytes;
      add_ ? moves.accumulate(runs, line) : moves.store(runs, line);
      r += line.count;
    }
  }
  moves.emit(calls, add_ ? "add_dx" : "store_dx", from, {s_.result, 0});
}

void ResultCalls::addDw(const CoreTask& task, const CubeBlock& block, std::int64_t first, std::int64_t count,
                        StreamPlace from, CallSequence& calls) const {
  const std::int64_t c0 = w_.c0, row = task.start.m + block.m0, rows = sums_.rowsFrom(row);
  const std::int64_t n = task.start.n + block.n0 + first, unit = n / c0 % sums_.unitsOfShare();
  const std::int64_t unitBytes = rows * c0 * 4;
  const std::int64_t base = task.tapDepth * sums_.tapDepth() + task.group * sums_.group() +
                            n / c0 / sums_.unitsOfShare() * sums_.shareOfN() + row * sums_.row() + unit * unitBytes;
  ListedMoves moves;
  const std::int64_t units = ceilDiv(count, c0), held = roundUp(block.m, kSide);
  if (c0 == kSide && held == rows) {
    moves.add(Accumulate{.lanes = lanes_, .rows = 1, .cols = units * rows * kSide, .label = "fixpipe_add"}, 0, base);
  } else {
    const Accumulate half{.lanes = lanes_,
                          .rows = std::min(held, rows),
                          .cols = c0,
                          .srcPitch = kRowBytes,
                          .dstPitch = c0 * 4,
                          .label = "fixpipe_add"};
    for (std::int64_t u = 0; u < units; ++u)
      moves.add(half, u * c0 / kSide * held * kRowBytes + u * c0 % kSide * 4, base + u * unitBytes);
  }
  moves.emit(calls, "add_dw", from, {s_.result, 0});
}

}  // namespace cubejit
