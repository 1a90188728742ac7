// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how rows of pixels follow each other where a matrix unit sums over them: what a tap reads of the big tensor lies as the pixels of
// the small one do, a few columns further on. Columns of zeros behind each row are those in front of the next one, so that sums run across
// rows. Strides: columns (rows) of each residue lie by themselves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/kit/chains.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/matrix_tiles.h"
#include "algorithms/kit/reduction_partition.h"
#include "algorithms/kit/residue_classes.h"
#include "cubejit/plan.h"
#include "tiling/rounding.h"

namespace cubejit {

/// Tap k meets pixel o of the small tensor at position stride * (o + shift) + residue of the big one.
struct TapPlace {
  std::int64_t shift = 0, residue = 0;
};
inline TapPlace placeOfTap(const ConvView& v, int axis, std::int64_t k) {
  const std::int64_t at = k * v.dilation[axis] - v.pad[axis],
                     shift = residue_classes_detail::floorDiv(at, v.stride[axis]);
  return {shift, at - shift * v.stride[axis]};
}

/// Shifts of an axis' taps.
struct TapReach {
  std::int64_t first = 0, last = 0;
  std::int64_t length() const { return last - first; }
};
inline TapReach reachOfTaps(const ConvView& v, int axis) {
  return {placeOfTap(v, axis, 0).shift, placeOfTap(v, axis, v.kernel[axis] - 1).shift};
}

/// Columns from a row to the next one: an even number, for pairs. Rows that are cut have none behind them.
inline std::int64_t flatRowPitch(const ConvView& v) {
  const TapReach taps = reachOfTaps(v, 2);
  const std::int64_t read = std::min(ceilDiv(v.big.extent.w, v.stride.w), v.small.extent.w + taps.last),
                     columns = std::max({v.small.extent.w, v.small.extent.w + taps.last, read - taps.first});
  return roundUp(columns, std::int64_t{2});
}

/// The products of pairs of neighbouring columns of `rows` rows.
inline PairProducts flatProducts(const ConvView& v, std::int64_t rows, std::int64_t columns) {
  return PairProducts(std::max<std::int64_t>(1, ceilDiv((rows - 1) * flatRowPitch(v) + columns, 2)));
}

/// Products that a sum of a reduction block adds up, of how many blocks.
inline PartialSums flatSums(const ConvView& v, const ReductionBlock& block) {
  const bool line = v.cutsRows();
  const std::int64_t planes = line ? 1 : std::min(block.d, v.small.extent.d) * std::min(block.n, v.batch),
                     rows = line ? 1 : std::min(block.h, v.small.extent.h);
  return {ReductionPartition(v, block).blocks(), planes * flatProducts(v, rows, columnsOfBlock(v, block)).count};
}

/// The sums of a task's reduction blocks: a product of tiles has up to 32 pixels, any other one.
inline PartialSums sumsOf(const ConvView& v, const DirectWeightsPlan& plan) {
  return plan.matrixUnit ? flatSums(v, plan.reduction) : ReductionPartition(v, plan.reduction).sums();
}

}  // namespace cubejit
