// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how matrices of channels by something else (pixels, taps, channels of the other side) are moved between a tensor, whatever its
// layout, and rows of up to 16 channels in a buffer. Leaves which tensor and which buffer to their users.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cube/lower/listed_moves.h"
#include "codegen/tile/element.h"
#include "cubejit/index_map.h"

namespace cubejit {

/// Rows of a fractal, bytes of a row of one, and of all of one: what a cube takes at once (facts of the units, see unit_program.h).
inline constexpr std::int64_t kSide = 16, kRun = 32, kFractal = kSide * kRun;

/// Channels of a tensor that are equally far apart: `count` of them from the `first`th of a row on, the first `offset` elements behind
/// wherever the row's other coordinates lie.
struct ChannelRun {
  std::int64_t first = 0, count = 0, offset = 0, pitch = 1;
  friend bool operator==(const ChannelRun& a, const ChannelRun& b) = default;
};

/// Where so many coordinates of an axis lie.
std::vector<std::int64_t> offsetsOf(const IndexMap& map, std::size_t axis, std::int64_t first, std::int64_t count);

/// Calls visit(first, count, pitch) for parts of [begin, end) whose offsets are equally far apart.
template <class Visit>
void evenParts(const IndexMap& map, std::size_t axis, std::int64_t begin, std::int64_t end, const Visit& visit) {
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t pitch = i + 1 < end ? map.along(axis, i + 1) - map.along(axis, i) : 0;
    std::int64_t next = i + 1;
    while (next < end && map.along(axis, next) - map.along(axis, next - 1) == pitch) ++next;
    visit(i, next - i, pitch);
    i = next;
  }
}

/// The runs of a row whose channels lie at `offsets`.
std::vector<ChannelRun> channelRuns(const std::vector<std::int64_t>& offsets);

/// Rows of channels that are equally far apart in the tensor (elements) and in the buffer (bytes).
struct RowLine {
  std::int64_t tensor = 0, buffer = 0;  ///< the first row: elements, bytes
  std::int64_t count = 0, tensorPitch = 0, bufferPitch = 0;
};

/// Moves rows between a tensor and a buffer. Rows of the buffer hold `width` elements.
class ChannelMoves {
 public:
  ChannelMoves(int lanes, Element tensor, Element buffer, const char* label)
      : lanes_(lanes), tensor_(tensor), buffer_(buffer), label_(label) {}

  /// From the tensor. What a row of `width` has beyond its channels becomes zero, if all channels are one run; see fillsRows.
  void load(const std::vector<ChannelRun>& runs, std::int64_t width, const RowLine& line);
  /// To the tensor.
  void store(const std::vector<ChannelRun>& runs, const RowLine& line);
  /// Adds to the tensor; both are f32.
  void accumulate(const std::vector<ChannelRun>& runs, const RowLine& line);
  /// Whether load() writes whole rows: otherwise somebody must have zeroed them.
  static bool fillsRows(const std::vector<ChannelRun>& runs, std::int64_t width, const RowLine& line);

  void emit(CallSequence& calls, const char* name, StreamPlace from, StreamPlace to) {
    moves_.emit(calls, name, from, to);
  }

 private:
  int lanes_;
  Element tensor_, buffer_;
  const char* label_;
  ListedMoves moves_;
};

}  // namespace cubejit
