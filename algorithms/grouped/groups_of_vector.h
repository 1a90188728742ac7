// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many groups of few channels share a vector, which planning and lowering must agree on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "algorithms/kit/conv_view.h"

namespace cubejit {

/// Groups side by side in a vector of `lanes`: the channels of one tensor fill it, those of the other (`permutedChannels` a group, or pairs
/// of them) come from at most two vectors; 0 = not even one fits.
inline std::int64_t groupsOfVector(std::int64_t lanes, std::int64_t vectorChannels, std::int64_t permutedChannels) {
  return std::min(lanes / std::max<std::int64_t>(1, vectorChannels),
                  2 * lanes / std::max<std::int64_t>(1, permutedChannels));
}

/// Says that not even one does.
inline std::string noGroupFits(std::int64_t lanes, std::int64_t vectorChannels, std::int64_t permutedChannels) {
  return "a group of " + std::to_string(vectorChannels) + " channels in the vectors and " +
         std::to_string(permutedChannels) + " permuted to them does not fit vectors of " + std::to_string(lanes) +
         " lanes: choose another algorithm";
}

/// The most groups, up to `most`, whose channels do not straddle the blocks of a blocked tensor of the two: those that fill the lanes lie
/// in one block, the others in one or, where a block is a vector (of words, not `pairs`), in two.
inline std::int64_t groupsInBlocks(std::int64_t most, std::int64_t lanes, const TensorView& lane,
                                   const TensorView& group, bool pairs) {
  const auto straddles = [](const TensorView& t, std::int64_t groups) {
    return t.c0 > 0 && t.c0 % (groups * t.channels) != 0;
  };
  const auto inTwo = [&](std::int64_t groups) {
    return !pairs && group.c0 == lanes && groups * group.channels == 2 * group.c0;
  };
  while (most > 1 && (straddles(lane, most) || (straddles(group, most) && !inTwo(most)))) --most;
  return most;
}

}  // namespace cubejit
