// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the columns of a reduction block of pixels become steps of a weight gradient's microkernel: neighbours that the same taps use are
// unrolled, or a loop. Leaves the instructions to lower_weights.
#pragma once

#include <vector>

#include "algorithms/direct_weights/pixel_pairs.h"
#include "algorithms/kit/lower/pixel_blocks.h"
#include "cubejit/plan.h"

namespace cubejit {

/// A section of the microkernel: `steps` neighbouring columns (or pairs of them) for taps [tapLo, tapHi); the outer loop
/// runs along rows or along W.
struct ColumnPattern {
  std::int64_t tapLo, tapHi, steps;
  bool alongRows;
  bool single = false;  ///< pairs of columns: one whose partner does not take part
  friend bool operator==(const ColumnPattern& x, const ColumnPattern& y) = default;
};

struct ColumnPatternUse {
  ColumnPattern pattern;
  std::int64_t start = 0;  ///< first column, relative to the reduction block
  std::int64_t outer = 1;  ///< iterations along W (if not alongRows)
};

/// Columns a step takes.
constexpr std::int64_t columnsOfStep(PixelPairs pairs, bool single) {
  return pairs == PixelPairs::kColumns && !single ? 2 : 1;
}

/// The patterns that cover the reduction block's columns for one tap block.
std::vector<ColumnPatternUse> columnPatterns(const ConvView& view, const DirectWeightsPlan& plan, PixelPairs pairs,
                                             const PixelBlock& block, const Range& taps);

}  // namespace cubejit
