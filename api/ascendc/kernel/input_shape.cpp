// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the single shapes of an input gradient; see single_shape.h.
#include <algorithm>

#include "api/ascendc/kernel/single_shape.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tiling/rounding.h"

namespace cubejit::ascendc {
namespace {

// Channels x c0 of one block of K.
std::int64_t unitK(const InputTiling& t) { return std::int64_t{t.dk} * t.hk * t.wk * t.c0; }

// Rows of gradOutput that rows [row, row + rows) of the spread grid reach.
Reach rowsInReach(const InputTiling& t, std::int64_t row, std::int64_t rows) {
  const std::int64_t last = row + rows - 1 + (std::int64_t{t.hk} - 1) * t.dilationH;
  if (last < 0) return {};
  return {ceilDiv(std::max<std::int64_t>(row, 0), t.strideH),
          std::min<std::int64_t>(last / t.strideH, std::int64_t{t.ho} - 1)};
}

// The caller's pointer is at the first row at or behind the start that exists.
std::int64_t alignedHo(const InputTiling& t, std::int64_t row) { return row < 0 ? 0 : ceilDiv(row, t.strideH); }

Problem withFormats(const InputTiling& t, const GradientTypes& types) {
  Problem p = problemOf(t);
  if (!isHf32(p.dtype)) p.dtype = types.operand;
  const auto format = [&](TensorId id, DType dtype, Layout layout) {
    p.formats[static_cast<std::size_t>(id)] = TensorFormat{dtype, layout, {}, layout == Layout::kNcdhw ? 0 : t.c0};
  };
  format(TensorId::kDy, p.dtype, Layout::kNdc1hwc0);
  format(TensorId::kW, p.dtype, Layout::kFractalZ3d);
  format(TensorId::kDx, types.result, types.resultLayout);
  return p;
}

}  // namespace

std::vector<std::string> singleShapeRules(const InputTiling& t, const SingleShape& s) {
  std::vector<std::string> broken;
  const auto require = [&](bool holds, const std::string& rule) {
    if (!holds) broken.push_back(rule);
  };
  require(s.m > 0 && s.m % t.wi == 0,
          fieldIs("singleShapeM", s.m) + " must be whole rows, a multiple of wi = " + std::to_string(t.wi));
  require(s.k > 0 && s.k % unitK(t) == 0 && s.k / unitK(t) <= t.cout1G,
          fieldIs("singleShapeK", s.k) + " must be 1 to cout1G = " + std::to_string(t.cout1G) +
              " times dk x hk x wk x c0 = " + std::to_string(unitK(t)));
  require(s.n > 0 && s.n <= std::int64_t{t.cin1G} * t.c0,
          fieldIs("singleShapeN", s.n) + " must be 1 to cin1G x c0 = " + std::to_string(std::int64_t{t.cin1G} * t.c0));
  require(s.depth < t.di, fieldIs("curDinStartIdx", s.depth) + " must be less than di = " + std::to_string(t.di));
  const std::int64_t first = s.row + t.backpropPadUp, rows = s.m / t.wi;
  require(first >= 0 && first < t.hi && first + rows <= t.hi,
          fieldIs("curHoStartIdx", s.row) + " + backpropPadUp = " + std::to_string(t.backpropPadUp) +
              " begins at row " + std::to_string(first) + ", and singleShapeM / wi = " + std::to_string(rows) +
              " rows must end by row hi = " + std::to_string(t.hi));
  return broken;
}

PreparedShape workOf(const InputTiling& t, const SingleShape& s) {
  PreparedShape w;
  const std::int64_t rows = s.m / t.wi, blocks = s.k / unitK(t), c0 = t.c0;
  w.task.depth = s.depth;
  w.task.start = Mkn{(s.row + t.backpropPadUp) * t.wi, 0, 0};
  w.task.extent = Mkn{s.m, s.k, s.n};
  w.gradOutputBack = alignedHo(t, s.row) * t.wo * c0;

  Reach depths{t.dout, -1}, taps{t.dk, -1};
  for (std::int64_t kd = 0; kd < t.dk; ++kd) {
    const std::int64_t spread = s.depth + t.padFront - kd * t.dilationD, od = spread / t.strideD;
    if (spread < 0 || spread % t.strideD != 0 || od >= t.dout) continue;
    depths = {std::min(depths.first, od), std::max(depths.last, od)};
    taps = {std::min(taps.first, kd), std::max(taps.last, kd)};
  }
  if (!depths.any()) return w;
  const Reach oh = rowsInReach(t, s.row, rows);
  const auto at = [&](std::int64_t od, std::int64_t block, std::int64_t row) {
    return ((od * t.cout1 + block) * t.ho + row) * t.wo * c0;
  };
  if (oh.any())
    w.gradOutput = {at(depths.first, 0, oh.first) - w.gradOutputBack,
                    at(depths.last, blocks - 1, oh.last + 1) - w.gradOutputBack - 1};
  const std::int64_t column = std::int64_t{t.hk} * t.wk * roundUp(std::int64_t{t.cout1G} * c0, 16) * c0;
  w.other = {taps.first * t.cin1G * column, (taps.last * t.cin1G + ceilDiv(s.n, c0)) * column - 1};
  // The last tap is read only as far as the channels of K go.
  w.other.last -= (roundUp(std::int64_t{t.cout1G} * c0, 16) - blocks * c0) * c0;
  return w;
}

Problem problemOf(const InputTiling& t, const GradientTypes& types, const SingleShape& s) {
  Problem p = withFormats(t, types);
  const std::int64_t c0 = t.c0, cout = s.k / unitK(t) * c0;
  p.cout = t.group == 1 ? std::min<std::int64_t>(cout, t.cout) : cout;
  // NCDHW has no place for channels that pad the last block.
  p.cin = types.resultLayout != Layout::kNcdhw ? roundUp(s.n, c0)
          : t.group == 1                       ? std::min<std::int64_t>(s.n, t.cin)
                                               : s.n;
  p.groups = 1;
  return p;
}

TilingPlan planOf(const InputTiling& t, const Problem& p, const SingleShape& s, const Machine& machine) {
  TilingPlan plan = planOf(t, machine);
  plan.cube().tile.operand = cubeOperandOf(p, machine);
  plan.cube().singleShape = Mkn{s.m, s.k, roundUp(s.n, t.c0)};
  return plan;
}

IndexMap mapOf(const InputTiling& t, const GradientTypes& types, TensorId id) {
  Problem p = withFormats(t, types);
  p.groups = 1;
  if (id == TensorId::kW) p.cin = std::int64_t{t.cin1G} * t.c0, p.cout = std::int64_t{t.cout1G} * t.c0;
  return indexMap(p, id);
}

bool receivesNoRow(const InputTiling& t, const SingleShape& s, const CubeBlock& block) {
  if (t.initOutputFlag != 1) return false;
  const std::int64_t first = block.m0 / t.wi, last = (block.m0 + block.m - 1) / t.wi;
  return !rowsInReach(t, s.row + first, last - first + 1).any();
}

Placement placeOf(const InputTiling& t, const SingleShape& s, const CubeBlock& b, Layout layout,
                  std::int64_t channels) {
  const std::int64_t plane = std::int64_t{t.hi} * t.wi, c0 = t.c0;
  Placement p;
  p.rows = b.m;
  if (layout == Layout::kNcdhw) {
    p.first = b.n0 * t.di * plane + s.depth * plane + b.m0;
    p.panelStride = t.di * plane;
    p.columns = std::clamp<std::int64_t>(std::min(channels, s.n) - b.n0, 0, b.n);
    return p;
  }
  p.first = b.n0 * plane + (b.m0 + s.depth * plane * t.cin1) * c0;
  p.rowStride = p.panel = c0;
  p.panelStride = plane * c0;
  p.columns = b.n;
  return p;
}

}  // namespace cubejit::ascendc
