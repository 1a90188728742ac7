// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the reduction steps of a data gradient lie in dy and in the weights, and which segments walk them: dy's channels follow
// each other, or lie in blocks. Leaves what a step multiplies to data_sections.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/contract.h"

namespace cubejit {

/// Steps of one tap: `a` and `b` bytes apart in dy (or its panel) and in the weights.
struct ReductionSteps {
  std::int64_t a = 4, b = 4;
  std::int64_t block = 0, blockBytes = 0;  ///< steps of a block of dy's channels (0: no blocks), bytes between blocks

  /// Bytes from the first step's operand of dy to step `k`'s.
  std::int64_t aTo(std::int64_t k) const { return block > 0 ? k / block * blockBytes + k % block * a : k * a; }

  /// Adds the segments of steps [0, count), `atOnce` of them an iteration, for a section that stepFrom() made. In blocks: one for each of
  /// the iterations that a block takes, over all whole blocks, and one for each of the last block's.
  void addSegments(std::vector<Segment>& segments, std::int64_t aOffset, std::int64_t bOffset, std::int64_t count,
                   std::int64_t atOnce) const {
    if (block == 0) {
      segments.push_back(Segment{aOffset, bOffset, count / atOnce});
      return;
    }
    const std::int64_t whole = count / block;
    for (std::int64_t k = 0; k < block && whole > 0; k += atOnce)
      segments.push_back(Segment{aOffset + k * a, bOffset + k * b, whole});
    for (std::int64_t k = whole * block; k < count; k += atOnce)
      segments.push_back(Segment{aOffset + aTo(k), bOffset + k * b, 1});
  }

  /// Sets where the next iteration of a section lies: in blocks, at the same place of the next one.
  void stepFrom(Section& section) const {
    if (block == 0) return;
    section.aOuterStep = blockBytes;
    section.bOuterStep = block * b;
  }
};

}  // namespace cubejit
