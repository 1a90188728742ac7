// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a plan's register block lies in the tiles of a matrix unit: pixels along W are rows, channels of dx columns, pairs of channels of dy
// what one product sums up.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/direct_data/plan.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/matrix_tiles.h"
#include "algorithms/kit/residue_classes.h"
#include "tiling/rounding.h"

namespace cubejit {

/// Taps along W whose channels are summed up together, in one product: all of them where pixels of few channels follow each other in dy's
/// panel, so that a row of a tile has those of neighbouring pixels; else 1.
inline std::int64_t tapsOfProduct(const ConvView& v) {
  const std::int64_t together = v.kernel.w * v.big.channels;
  return !v.bigIsX && v.dilation.w == 1 && together <= 2 * kTilePairs ? v.kernel.w : 1;
}

/// Columns of zeros behind all that taps reach: the last pair of an odd number of channels reads one more.
inline std::int64_t columnsOfLastPair(const ConvView& v) {
  const std::int64_t taps = tapsOfProduct(v);
  return taps > 1 ? taps * v.big.channels % 2 : 0;
}

/// Pixels of a block of `rows` whole rows of `columns`, or of a piece of one, with the zeros between them. Precondition of several: strides of one.
inline std::int64_t flatPixels(const ConvView& v, std::int64_t rows, std::int64_t columns) {
  const std::int64_t reach = (v.kernel.w - 1) * v.dilation.w, first = v.bigIsX ? v.pad.w - reach : -v.pad.w,
                     operands = v.bigIsX ? v.small.extent.w : v.big.extent.w,
                     row = std::max(operands, first + columns + reach) + columnsOfLastPair(v) -
                           std::min<std::int64_t>(0, first);
  return columns + (rows - 1) * row;
}

/// Zeros at both ends of an axis of dy's panel, with which every tap reaches all pixels of a tile: columns of rows, and rows where a tile has
/// pixels of several.
struct ZeroEnds {
  std::int64_t before = 0, behind = 0;
  std::int64_t all() const { return before + behind; }
};

/// Extends the operand of the relation by what taps reach beyond it.
inline ZeroEnds padWithZeros(AxisRelation& r) {
  const std::int64_t reach = (r.kernel - 1) * r.dilation;
  const std::int64_t first = r.gather ? ceilDiv(r.pad - reach, r.stride) : -r.pad,
                     last = r.gather ? residue_classes_detail::floorDiv(r.results - 1 + r.pad, r.stride)
                                     : (r.results - 1) * r.stride + reach - r.pad;
  const ZeroEnds zeros{std::max<std::int64_t>(0, -first), std::max<std::int64_t>(0, last - r.operands + 1)};
  r.operands += zeros.all();
  r.pad += r.gather ? zeros.before * r.stride : -zeros.before;
  return zeros;
}

/// Pairs that a tap's products sum up, or those of a row of taps.
inline std::int64_t pairsOfTaps(const ConvView& v) {
  const TensorView& operand = v.bigIsX ? v.small : v.big;
  const std::int64_t taps = tapsOfProduct(v);
  return taps > 1 ? ceilDiv(taps * operand.channels, 2) : operand.words(true);
}

/// Where the pixels of a problem on one axis lie: on H, which cache blocks cut. Tiles need them along W; those of layers with one tap are cut into
/// rows, so that there are tasks for all cores.
inline OneAxis axisOf(const DirectDataPlan& plan) { return plan.matrixUnit ? OneAxis::kInRows : OneAxis::kOnH; }

}  // namespace cubejit
