// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the single shapes of a filter gradient; see single_shape.h.
#include <algorithm>

#include "api/ascendc/kernel/single_shape.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tiling/rounding.h"

namespace cubejit::ascendc {
namespace {

std::int64_t channelsM(const FilterTiling& t) { return roundUp(std::int64_t{t.cout1G} * t.channelSize, 16); }
// Blocks of the input's channels that N covers.
std::int64_t blocksN(const FilterTiling& t, std::int64_t n) {
  return ceilDiv(ceilDiv(n, std::int64_t{t.hk} * t.wk), t.channelSize);
}
// The first row of the input that a row of gradOutput sees, in the tensor or before it.
std::int64_t inputRow(const FilterTiling& t, std::int64_t row) { return row * t.strideH - t.padUp; }

Problem withFormats(const FilterTiling& t, const GradientTypes& types) {
  Problem p = problemOf(t);
  if (!isHf32(p.dtype)) p.dtype = types.operand;
  p.batch = p.groups = 1;  // the caller's pointers are at an image, a depth and a group
  p.in.d = p.out.d = p.kernel.d = p.stride.d = p.dilation.d = 1;
  p.padBefore.d = p.padAfter.d = 0;
  const auto format = [&](TensorId id, DType dtype, Layout layout) {
    p.formats[static_cast<std::size_t>(id)] = TensorFormat{dtype, layout, {}, t.channelSize};
  };
  format(TensorId::kDy, p.dtype, Layout::kNdc1hwc0);
  format(TensorId::kX, p.dtype, Layout::kNdc1hwc0);
  format(TensorId::kDw, types.result, Layout::kFractalZ3d);
  return p;
}

}  // namespace

std::vector<std::string> singleShapeRules(const FilterTiling& t, const SingleShape& s) {
  std::vector<std::string> broken;
  const auto require = [&](bool holds, const std::string& rule) {
    if (!holds) broken.push_back(rule);
  };
  require(s.m > 0 && s.m <= channelsM(t),
          fieldIs("singleCoreM", s.m) + " must be 1 to cout1G x c0 in whole 16s = " + std::to_string(channelsM(t)));
  const std::int64_t most = std::int64_t{t.cin1G} * t.channelSize * t.hk * t.wk;
  require(s.n > 0 && s.n <= most,
          fieldIs("singleCoreN", s.n) + " must be 1 to cin1G x c0 x hk x wk = " + std::to_string(most));
  const std::int64_t rows = s.k / t.wo;
  require(rows > 0, fieldIs("singleCoreK", s.k) + " must be at least one row, wo = " + std::to_string(t.wo));
  require(s.row < t.ho && s.row + rows <= t.ho, fieldIs("hoStartIdx", s.row) +
                                                    " and singleCoreK / wo = " + std::to_string(rows) +
                                                    " rows must end by row ho = " + std::to_string(t.ho));
  return broken;
}

PreparedShape workOf(const FilterTiling& t, const SingleShape& s) {
  PreparedShape w;
  const std::int64_t rows = s.k / t.wo, c0 = t.channelSize, n = blocksN(t, s.n);
  w.task.start = Mkn{0, s.row * t.wo, 0};
  w.task.extent = Mkn{roundUp(s.m, 16), rows * t.wo, n * c0 * t.hk * t.wk};
  w.gradOutputBack = s.row * t.wo * c0;
  const auto at = [&](std::int64_t block, std::int64_t h, std::int64_t w0, std::int64_t row) {
    return (block * h + row) * w0 * c0;
  };
  const std::int64_t m = std::min(ceilDiv(s.m, c0), std::int64_t{t.cout1G});
  w.gradOutput = {0, at(m - 1, t.ho, t.wo, s.row + rows) - w.gradOutputBack - 1};
  const std::int64_t first = std::max<std::int64_t>(inputRow(t, s.row), 0),
                     last =
                         std::min<std::int64_t>(inputRow(t, s.row + rows - 1) + (std::int64_t{t.hk} - 1) * t.dilationH,
                                                std::int64_t{t.hi} - 1);
  w.otherBack = first * t.wi * c0;
  if (last >= first) w.other = {0, at(n - 1, t.hi, t.wi, last + 1) - w.otherBack - 1};
  return w;
}

Problem problemOf(const FilterTiling& t, const GradientTypes& types, const SingleShape& s) {
  Problem p = withFormats(t, types);
  p.cout = std::min(roundUp(s.m, 16), std::int64_t{t.cout1G} * t.channelSize);
  p.cin = blocksN(t, s.n) * t.channelSize;
  return p;
}

TilingPlan planOf(const FilterTiling& t, const Problem& p, const SingleShape& s, const Machine& machine) {
  TilingPlan plan = planOf(t, machine);
  plan.cube().tile.operand = cubeOperandOf(p, machine);
  plan.cube().singleShape = Mkn{roundUp(s.m, 16), s.k / t.wo * t.wo, blocksN(t, s.n) * t.channelSize * t.hk * t.wk};
  return plan;
}

IndexMap mapOf(const FilterTiling& t, const GradientTypes& types, TensorId id) {
  Problem p = withFormats(t, types);
  if (id == TensorId::kDw)
    p.cin = std::int64_t{t.cin1G} * t.channelSize, p.cout = std::int64_t{t.cout1G} * t.channelSize;
  return indexMap(p, id);
}

Placement placeOf(const FilterTiling& t, const CubeBlock& b, bool sequential) {
  Placement p;
  const std::int64_t c0 = t.channelSize;
  p.rowStride = p.panel = c0;
  p.panelStride = (sequential ? std::int64_t{t.baseM} : channelsM(t)) * c0;
  p.first = sequential ? 0 : b.n0 * channelsM(t) + b.m0 * c0;
  p.rows = b.m;
  p.columns = b.n;
  return p;
}

GroupMask maskOf(const FilterTiling& t, const CubeBlock& b, std::int64_t offset) {
  GroupMask mask;
  const std::int64_t groups = t.group, c0 = t.channelSize;
  if (realGroups(t.cin / groups, t.cout / groups, groups, c0).together == 1) return mask;
  mask.rowsOfGroup = t.cout / groups, mask.channelsOfGroup = t.cin / groups;
  mask.c0 = c0, mask.taps = std::int64_t{t.hk} * t.wk;
  const std::int64_t column = channelsM(t) * c0, block = column * mask.taps;
  mask.firstChannel = offset / block % t.cin1G * c0;
  mask.firstRow = offset % column / c0 + b.m0;
  mask.firstColumn = b.n0;
  return mask;
}

}  // namespace cubejit::ascendc
