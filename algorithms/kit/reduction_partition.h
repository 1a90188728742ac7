// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how unequal the parts of a weight gradient's pixels are: reduction blocks are whole rows, planes or images, the last ones shorter, and
// a reduction split gets whole reduction blocks. Leaves which pixels a reduction block has to codegen.
#pragma once

#include <cstdint>

#include "algorithms/kit/chains.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/rules.h"
#include "cubejit/plan_parts.h"

namespace cubejit {

/// Columns of a reduction block: all, or of rows that are cut nearly equal pieces.
std::int64_t columnsOfBlock(const ConvView& view, const ReductionBlock& block);

class ReductionPartition {
 public:
  ReductionPartition(const ConvView& view, const ReductionBlock& block);

  std::int64_t blocks() const { return units_ * perUnit_; }
  /// Where an accumulator adds up a product for every pixel; where lanes are neighbours along W, for every vector of `lanes`.
  PartialSums sums(std::int64_t lanes = 1) const { return {blocks(), piece_ * each_ / row_ * ceilDiv(row_, lanes)}; }
  /// How much longer the slowest core works than the average one: `copies` times `splits` tasks, each a run of reduction blocks, are taken in
  /// order by whichever core is free.
  double imbalance(std::int64_t splits, std::int64_t copies, int cores) const;

 private:
  std::int64_t pixelsBefore(std::int64_t block) const;

  // Units of `extent_` (of the axis that is cut), in `perUnit_` reduction blocks of `piece_`; `each_`: pixels of one position of it.
  std::int64_t units_ = 1, extent_ = 1, piece_ = 1, perUnit_ = 1, each_ = 1;
  std::int64_t row_ = 1;  ///< columns of a block
};

/// A reduction block is a run of whole rows, planes or images (where there is one axis: pixels), and none of them is summed twice.
void requireReductionBlocks(Rules& rules, const Problem& core, const ReductionBlock& block);

}  // namespace cubejit
