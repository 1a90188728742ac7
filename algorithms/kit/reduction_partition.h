// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how unequal the parts of a weight gradient's pixels are: reduction blocks are whole rows, planes or images, the last ones shorter, and
// a reduction split gets whole reduction blocks. Leaves which pixels a reduction block has to codegen.
#pragma once

#include <cstdint>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/rules.h"
#include "cubejit/plan_parts.h"

namespace cubejit {

class ReductionPartition {
 public:
  ReductionPartition(const ConvView& view, const ReductionBlock& block);

  std::int64_t blocks() const { return units_ * perUnit_; }
  /// How much longer the slowest core works than the average one: `copies` times `splits` tasks, each a run of reduction blocks, are taken in
  /// order by whichever core is free.
  double imbalance(std::int64_t splits, std::int64_t copies, int cores) const;

 private:
  std::int64_t pixelsBefore(std::int64_t block) const;

  // Units of `extent_` (of the axis that is cut), in `perUnit_` reduction blocks of `piece_`.
  std::int64_t units_ = 1, extent_ = 1, piece_ = 1, perUnit_ = 1;
};

/// A reduction block is a run of whole rows, planes or images (of a line: pixels), and none of them is summed twice.
void requireReductionBlocks(Rules& rules, const Problem& core, const ReductionBlock& block);

}  // namespace cubejit
