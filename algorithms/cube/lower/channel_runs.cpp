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

// Single lines are alike, whatever would be the next one's place.
std::int64_t pitchOf(std::int64_t bytes, std::int64_t lines) { return lines > 1 ? bytes : 0; }

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
    const std::int64_t padding = one ? width - run.count : 0;
    const auto copy = [&](std::int64_t channels, std::int64_t zeros) {
      return Copy{.lanes = lanes_,
                  .rows = line.count,
                  .cols = channels,
                  .srcPitch = pitchOf(line.tensorPitch * e, line.count),
                  .dstPitch = pitchOf(line.bufferPitch, line.count),
                  .padCols = zeros,
                  .from = tensor_,
                  .to = buffer_,
                  .label = label_};
    };
    if (neighbours(run)) {
      moves_.add(copy(run.count, padding), from, at);
    } else if (turns(run, line)) {
      moves_.add(Transpose{.lanes = lanes_,
                           .rows = run.count,
                           .cols = line.count,
                           .srcPitch = pitchOf(run.pitch * e, run.count),
                           .dstPitch = pitchOf(line.bufferPitch, line.count),
                           .padCols = padding,
                           .from = tensor_,
                           .to = buffer_,
                           .label = label_},
                 from, at);
    } else {
      for (std::int64_t c = 0; c < run.count; ++c) moves_.add(copy(1, 0), from + c * run.pitch * e, at + c * to);
    }
  }
}

void ChannelMoves::store(const std::vector<ChannelRun>& runs, const RowLine& line) {
  const std::int64_t e = elementBytes(tensor_), from = elementBytes(buffer_);
  for (const ChannelRun& run : runs) {
    const std::int64_t to = (line.tensor + run.offset) * e, at = line.buffer + run.first * from;
    Copy move{.lanes = lanes_,
              .rows = line.count,
              .cols = run.count,
              .srcPitch = pitchOf(line.bufferPitch, line.count),
              .dstPitch = pitchOf(line.tensorPitch * e, line.count),
              .from = buffer_,
              .to = tensor_,
              .label = label_};
    if (neighbours(run)) {
      moves_.add(move, at, to);
    } else if (turns(run, line) && run.pitch >= line.count) {
      move.dstPitch = pitchOf(run.pitch * e, run.count);
      moves_.add(turned(move), at, to);
    } else {
      move.cols = 1;
      for (std::int64_t c = 0; c < run.count; ++c) moves_.add(move, at + c * from, to + c * run.pitch * e);
    }
  }
}

void ChannelMoves::accumulate(const std::vector<ChannelRun>& runs, const RowLine& line) {
  const std::int64_t e = elementBytes(tensor_);
  for (const ChannelRun& run : runs) {
    const std::int64_t to = (line.tensor + run.offset) * e, at = line.buffer + run.first * e;
    const bool whole = neighbours(run);
    const Accumulate add{.lanes = lanes_,
                         .rows = line.count,
                         .cols = whole ? run.count : 1,
                         .srcPitch = pitchOf(line.bufferPitch, line.count),
                         .dstPitch = pitchOf(line.tensorPitch * e, line.count),
                         .label = label_};
    for (std::int64_t c = 0; c < (whole ? 1 : run.count); ++c) moves_.add(add, at + c * e, to + c * run.pitch * e);
  }
}

}  // namespace cubejit
