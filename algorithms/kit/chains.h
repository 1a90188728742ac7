// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many f32 additions a sum over pixels may have in a row: the more there are, the more of what is added is rounded away. A chain
// of products in a register has a bound. Complete chains are partial sums, added one after another to a result in memory, which a task may do
// so many times; parts (`reduction_parts`), each summed by one task, are added by groups of at most 64.
//   A sum of n equal terms in a row is wrong by up to n * 1.5e-8 of it (measured over n = 2^8 to 2^14; the bound is n * 6e-8), of random
//   positive ones by about sqrt(n) * 1.4e-8. So 640 additions are wrong by less than 1e-5.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "algorithms/kit/rules.h"
#include "tiling/rounding.h"

namespace cubejit {

/// Products that an accumulator adds up before they are a partial sum.
inline constexpr std::int64_t kLongestChain = 512;
/// Additions in a row that a result of a part has: products of a chain, then partial sums.
inline constexpr std::int64_t kMostAdditions = 640;
/// Columns of a reduction block: longer rows are cut.
inline constexpr std::int64_t kLongestRow = 64 * kLongestChain;

/// The sums of one task: `blocks` reduction blocks, in each of which an accumulator adds up `steps` products.
struct PartialSums {
  std::int64_t blocks = 1, steps = 1;

  std::int64_t chainsOfBlock() const { return ceilDiv(std::max<std::int64_t>(1, steps), kLongestChain); }
  /// Blocks that a task may sum: none if a block is too long.
  std::int64_t mostBlocks() const {
    return std::max<std::int64_t>(0, kMostAdditions - ceilDiv(steps, chainsOfBlock())) / chainsOfBlock();
  }
  /// Parts that all blocks must at least be summed in.
  std::int64_t leastParts() const { return ceilDiv(blocks, std::max<std::int64_t>(1, mostBlocks())); }
};

/// No sum has too many additions in a row.
inline void requireShortSums(Rules& rules, const PartialSums& sums, std::int64_t parts) {
  rules.require(sums.mostBlocks() > 0, [&] {
    return "a reduction block adds up " + std::to_string(sums.steps) +
           " products, more than are summed accurately in f32: lower reduction_n, reduction_d or reduction_h";
  });
  rules.require(parts >= std::min(sums.leastParts(), sums.blocks), [&] {
    return "reduction_parts = " + std::to_string(parts) + " must be at least " + std::to_string(sums.leastParts()) +
           ": a part adds up at most " + std::to_string(sums.mostBlocks()) + " of the " + std::to_string(sums.blocks) +
           " reduction blocks, so that f32 sums stay accurate";
  });
}

}  // namespace cubejit
