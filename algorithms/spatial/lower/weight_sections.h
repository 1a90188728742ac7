// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the kernels of a weight gradient of the spatial algorithm: accumulators are taps of one pair of channels, each a vector of partial
// sums. A step multiplies vectors of several rows of the small tensor by the big tensor's rows at each shift that taps reach.
// Leaves channels, images and the sum of lanes to lower_weights.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/pixel_blocks.h"
#include "algorithms/kit/range.h"

namespace cubejit {

/// Taps of a plane that are summed at the same time.
struct TapTile {
  Range h, w;
};

class SpatialWeightsSections {
 public:
  /// Precondition: both tensors are plain, stride 1 along W. `tapBytes`: between taps of dw. `rows`: of the small tensor, in a step.
  SpatialWeightsSections(const ConvView& view, const PixelBlocks& blocks, const Dhw& tapBytes, const TapTile& taps,
                         std::int64_t rows, int lanes);

  Contract contract() const;
  /// The products of a block of a class with the planes that tap `kd` reaches; offsets from the block's first pixel, of the big tensor
  /// from where tap 0 of that lies.
  SegmentList segments(int cls, std::int64_t kd) const;

 private:
  using Pair = std::pair<std::int64_t, std::int64_t>;  ///< row of a block, tap along H
  struct Rows {
    std::int64_t count = 0;
    std::vector<Pair> inside;
    friend bool operator==(const Rows& x, const Rows& y) = default;
  };
  struct Columns {
    LaneRange small;
    std::vector<LaneRange> taps;  ///< lanes whose pixel a tap along W finds; kNone: no lane's
    friend bool operator==(const Columns& x, const Columns& y) = default;
  };
  struct Run {                 ///< vectors that are alike
    std::int64_t columns = 0;  ///< index into columns_
    std::int64_t first = 0, count = 0;
  };
  struct RowBlock {
    std::int64_t first = 0, rows = 0;  ///< `rows`: index into rows_
  };
  struct Places {  ///< of a class of blocks, relative to the block
    std::vector<RowBlock> blocks;
    std::vector<Run> runs;
  };

  Places placesOf(const PixelBlock& block, std::int64_t rows);
  Columns columnsAt(const Range& own, std::int64_t first) const;
  Step stepOf(const Rows& rows, const Columns& columns) const;
  std::int64_t bytesOf(const TensorView& t) const { return elementBytes(elementOf(t.dtype)); }

  const ConvView& v_;
  const PixelBlocks& pixels_;
  const Dhw tapBytes_;
  const TapTile taps_;
  const int lanes_;
  std::vector<Rows> rows_;
  std::vector<Columns> columns_;
  std::vector<Places> places_;  ///< by class
};

}  // namespace cubejit
