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

// Whether every tap finds an operand at all of these results, where strides let it. Blocks of as many such results that begin at the same
// place modulo the stride have the same pairs.
bool isInside(const AxisRelation& rel, std::int64_t first, std::int64_t last) {
  const std::int64_t reach = (rel.kernel - 1) * rel.dilation;
  if (!rel.gather) return first * rel.stride >= rel.pad && last * rel.stride - rel.pad + reach < rel.operands;
  return first + rel.pad >= reach && last + rel.pad <= (rel.operands - 1) * rel.stride;
}

Range reachOf(const GroupBlockClass& cls) {
  Range range;
  for (const TapPair& pair : cls.pairs) {
    const bool first = &pair == &cls.pairs.front();
    range.lo = first ? pair.offset : std::min(range.lo, pair.offset);
    range.hi = first ? pair.offset + 1 : std::max(range.hi, pair.offset + 1);
  }
  return range;
}

}  // namespace

GroupAxis makeGroupAxis(const AxisRelation& rel, std::int64_t length) {
  limitWork(static_cast<double>(rel.results) / static_cast<double>(length), FewerSteps::most(), "blocks of an axis");
  GroupAxis axis;
  std::map<GroupBlockClass, int> known;
  std::map<std::int64_t, int> inside;  // classes of whole blocks, by where they begin modulo the stride
  for (std::int64_t start = 0; start < rel.results; start += length) {
    GroupBlock block{start, rel.gather ? floorDiv(start, rel.stride) : start * rel.stride, 0};
    GroupBlockClass cls;
    cls.length = std::min(length, rel.results - start);
    const bool whole = cls.length == length && isInside(rel, start, start + length - 1);
    const std::int64_t residue = rel.gather ? start % rel.stride : 0;
    if (const auto alike = inside.find(residue); whole && alike != inside.end()) {
      block.cls = alike->second;
      axis.blocks.push_back(block);
      continue;
    }
    for (std::int64_t u = 0; u < cls.length; ++u) {
      forEachTap(rel, start + u,
                 [&](std::int64_t k, std::int64_t operand) { cls.pairs.push_back({u, k, operand - block.anchor}); });
    }
    std::sort(cls.pairs.begin(), cls.pairs.end(),
              [](const TapPair& x, const TapPair& y) { return x.k != y.k ? x.k < y.k : x.u < y.u; });
    const auto [at, fresh] = known.emplace(std::move(cls), static_cast<int>(axis.classes.size()));
    if (fresh) {
      axis.classes.push_back(at->first);
      axis.reach.push_back(reachOf(at->first));
    }
    block.cls = at->second;
    if (whole) inside.emplace(residue, block.cls);
    axis.blocks.push_back(block);
  }
  return axis;
}

Range operandRange(const GroupAxis& axis, int begin, int end) {
  bool any = false;
  Range range;
  for (int i = begin; i < end; ++i) {
    const GroupBlock& block = axis.blocks[static_cast<std::size_t>(i)];
    const Range& reach = axis.reach[static_cast<std::size_t>(block.cls)];
    if (reach.length() == 0) continue;
    range.lo = any ? std::min(range.lo, block.anchor + reach.lo) : block.anchor + reach.lo;
    range.hi = any ? std::max(range.hi, block.anchor + reach.hi) : block.anchor + reach.hi;
    any = true;
  }
  return range;
}

}  // namespace cubejit
