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

/// Pairs of each product for sums of `pairs`: as many as fit, and the same for all; 0 if that would be only a few.
inline std::int64_t pairsOfProduct(std::int64_t pairs) {
  constexpr std::int64_t kFewest = 4;
  for (std::int64_t products = ceilDiv(pairs, kTilePairs); products > 0 && pairs / products >= kFewest; ++products) {
    if (pairs % products == 0) return pairs / products;
  }
  return pairs <= kTilePairs ? pairs : 0;
}

/// Taps along W whose channels are summed up together, in one product: all of them where pixels of few channels follow each other in dy's
/// panel, so that a row of a tile has those of neighbouring pixels; else 1. A column of zeros is behind them, for the last pair's second member.
inline std::int64_t tapsOfProduct(const ConvView& v) {
  const std::int64_t together = v.kernel.w * v.big.channels;
  return !v.bigIsX && v.dilation.w == 1 && together <= 2 * kTilePairs ? v.kernel.w : 1;
}

/// Pixels of a block of `rows` whole rows of `columns`, or of a piece of one, with the zeros between them. Precondition of several: strides of one.
inline std::int64_t flatPixels(const ConvView& v, std::int64_t rows, std::int64_t columns) {
  const std::int64_t reach = (v.kernel.w - 1) * v.dilation.w, first = v.bigIsX ? v.pad.w - reach : -v.pad.w,
                     operands = v.bigIsX ? v.small.extent.w : v.big.extent.w + (tapsOfProduct(v) > 1 ? 1 : 0),
                     row = std::max(operands, first + columns + reach) - std::min<std::int64_t>(0, first);
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
