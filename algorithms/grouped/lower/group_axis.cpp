// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides blocks, anchors and classes.
#include "algorithms/grouped/lower/group_axis.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cubejit {
namespace {

using axis_phases_detail::floorDiv;

// The taps k of one result, each with the operand position it reads.
template <class Visit>
void forEachTap(const AxisRelation& rel, std::int64_t result, Visit visit) {
  if (!rel.gather) {
    const std::int64_t origin = result * rel.stride - rel.pad;
    const std::int64_t lo = std::max<std::int64_t>(0, ceilDiv(-origin, rel.dilation));
    const std::int64_t hi = std::min(rel.kernel - 1, floorDiv(rel.operands - 1 - origin, rel.dilation));
    for (std::int64_t k = lo; k <= hi; ++k) visit(k, origin + k * rel.dilation);
    return;
  }
  const std::int64_t at = result + rel.pad;  // = operand * stride + k * dilation
  const std::int64_t lo = std::max<std::int64_t>(0, ceilDiv(at - (rel.operands - 1) * rel.stride, rel.dilation));
  const std::int64_t hi = std::min(rel.kernel - 1, floorDiv(at, rel.dilation));
  for (std::int64_t k = lo; k <= hi; ++k) {
    const std::int64_t distance = at - k * rel.dilation;
    if (distance % rel.stride == 0) visit(k, distance / rel.stride);
  }
}

}  // namespace

GroupAxis makeGroupAxis(const AxisRelation& rel, std::int64_t length) {
  GroupAxis axis;
  std::map<GroupBlockClass, int> known;
  for (std::int64_t start = 0; start < rel.results; start += length) {
    GroupBlock block{start, rel.gather ? floorDiv(start, rel.stride) : start * rel.stride, 0};
    GroupBlockClass cls;
    cls.length = std::min(length, rel.results - start);
    for (std::int64_t u = 0; u < cls.length; ++u) {
      forEachTap(rel, start + u,
                 [&](std::int64_t k, std::int64_t operand) { cls.pairs.push_back({u, k, operand - block.anchor}); });
    }
    std::sort(cls.pairs.begin(), cls.pairs.end(),
              [](const TapPair& x, const TapPair& y) { return x.k != y.k ? x.k < y.k : x.u < y.u; });
    const auto [at, fresh] = known.emplace(std::move(cls), static_cast<int>(axis.classes.size()));
    if (fresh) axis.classes.push_back(at->first);
    block.cls = at->second;
    axis.blocks.push_back(block);
  }
  return axis;
}

Range operandRange(const GroupAxis& axis, int begin, int end) {
  bool any = false;
  Range range;
  for (int i = begin; i < end; ++i) {
    const GroupBlock& block = axis.blocks[static_cast<std::size_t>(i)];
    for (const TapPair& pair : axis.classes[static_cast<std::size_t>(block.cls)].pairs) {
      const std::int64_t at = block.anchor + pair.offset;
      range.lo = any ? std::min(range.lo, at) : at;
      range.hi = any ? std::max(range.hi, at + 1) : at + 1;
      any = true;
    }
  }
  return range;
}

}  // namespace cubejit
