// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the matrices: channels that are neighbours are copied row by row; rows that are neighbours are turned; of what is neither,
// each channel is moved by itself.
#include "algorithms/cube/lower/channel_runs.h"

namespace cubejit {
namespace {

// As the columns of a matrix that is turned: rows follow each other element by element.
bool turns(const ChannelRun& run, const RowLine& line) {
  return run.pitch > 0 && run.count > 1 && (line.tensorPitch == 1 || line.count == 1);
}
bool neighbours(const ChannelRun& run) { return run.count == 1 || run.pitch == 1; }

}  // namespace

std::vector<std::int64_t> offsetsOf(const IndexMap& map, std::size_t axis, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t c = 0; c < count; ++c) offsets.push_back(map.along(axis, first + c));
  return offsets;
}

std::vector<ChannelRun> channelRuns(const std::vector<std::int64_t>& offsets) {
  std::vector<ChannelRun> runs;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (!runs.empty()) {
      ChannelRun& last = runs.back();
      const std::int64_t pitch = offsets[i] - offsets[i - 1];
      if (last.count == 1) last.pitch = pitch;
      if (last.pitch == pitch) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({static_cast<std::int64_t>(i), 1, offsets[i], 1});
  }
  for (ChannelRun& run : runs) {
    if (run.count == 1) run.pitch = 1;
  }
  return runs;
}

Move ChannelMoves::matrix(MoveKind kind, Element from, Element to, std::int64_t rows, std::int64_t cols,
                          std::int64_t srcPitch, std::int64_t dstPitch) const {
  Move m = rowMove(kind, lanes_, cols, from, to, label_);
  m.rows = rows;
  const std::int64_t lines = kind == MoveKind::kTranspose ? cols : rows;
  m.srcPitch = rows > 1 ? srcPitch : 0;
  m.dstPitch = lines > 1 ? dstPitch : 0;
  return m;
}

bool ChannelMoves::fillsRows(const std::vector<ChannelRun>& runs, std::int64_t width, const RowLine& line) {
  if (runs.size() != 1 || runs.front().first != 0) {
    std::int64_t all = 0;
    for (const ChannelRun& run : runs) all += run.count;
    return all == width;
  }
  const ChannelRun& run = runs.front();
  return run.count == width || neighbours(run) || turns(run, line);
}

void ChannelMoves::load(const std::vector<ChannelRun>& runs, std::int64_t width, const RowLine& line) {
  const std::int64_t e = elementBytes(tensor_), to = elementBytes(buffer_);
  const bool one = runs.size() == 1 && runs.front().first == 0;
  for (const ChannelRun& run : runs) {
    const std::int64_t from = (line.tensor + run.offset) * e, at = line.buffer + run.first * to;
    if (neighbours(run) || turns(run, line)) {
      Move m =
          neighbours(run)
              ? matrix(MoveKind::kCopy, tensor_, buffer_, line.count, run.count, line.tensorPitch * e, line.bufferPitch)
              : matrix(MoveKind::kTranspose, tensor_, buffer_, run.count, line.count, run.pitch * e, line.bufferPitch);
      if (one) m.padCols = width - run.count;
      moves_.add(m, from, at);
      continue;
    }
    const Move m = matrix(MoveKind::kCopy, tensor_, buffer_, line.count, 1, line.tensorPitch * e, line.bufferPitch);
    for (std::int64_t c = 0; c < run.count; ++c) moves_.add(m, from + c * run.pitch * e, at + c * to);
  }
}

void ChannelMoves::store(const std::vector<ChannelRun>& runs, const RowLine& line) {
  const std::int64_t e = elementBytes(tensor_), from = elementBytes(buffer_);
  for (const ChannelRun& run : runs) {
    const std::int64_t to = (line.tensor + run.offset) * e, at = line.buffer + run.first * from;
    if (neighbours(run)) {
      moves_.add(
          matrix(MoveKind::kCopy, buffer_, tensor_, line.count, run.count, line.bufferPitch, line.tensorPitch * e), at,
          to);
    } else if (turns(run, line) && run.pitch >= line.count) {
      moves_.add(matrix(MoveKind::kTranspose, buffer_, tensor_, line.count, run.count, line.bufferPitch, run.pitch * e),
                 at, to);
    } else {
      const Move m = matrix(MoveKind::kCopy, buffer_, tensor_, line.count, 1, line.bufferPitch, line.tensorPitch * e);
      for (std::int64_t c = 0; c < run.count; ++c) moves_.add(m, at + c * from, to + c * run.pitch * e);
    }
  }
}

void ChannelMoves::accumulate(const std::vector<ChannelRun>& runs, const RowLine& line) {
  const std::int64_t e = elementBytes(tensor_);
  for (const ChannelRun& run : runs) {
    const std::int64_t to = (line.tensor + run.offset) * e, at = line.buffer + run.first * e;
    const bool whole = neighbours(run);
    const Move m = matrix(MoveKind::kAccumulate, Element::kF32, Element::kF32, line.count, whole ? run.count : 1,
                          line.bufferPitch, line.tensorPitch * e);
    for (std::int64_t c = 0; c < (whole ? 1 : run.count); ++c) moves_.add(m, at + c * e, to + c * run.pitch * e);
  }
}

}  // namespace cubejit
