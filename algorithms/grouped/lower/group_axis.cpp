// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides blocks, anchors and classes.
#include "algorithms/grouped/lower/group_axis.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/kit/lower/class_numbers.h"

namespace cubejit {
namespace {

using residue_classes_detail::floorDiv;

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
  if (last >= rel.results) return false;
  if (!rel.gather) return first * rel.stride >= rel.pad && last * rel.stride - rel.pad + reach < rel.operands;
  return first + rel.pad >= reach && last + rel.pad <= (rel.operands - 1) * rel.stride;
}

// The operand position that offsets of a block are counted from, which begins with the result `start`.
std::int64_t anchorOf(const AxisRelation& rel, std::int64_t start) {
  return rel.gather ? floorDiv(start, rel.stride) : start * rel.stride;
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

GroupBlock GroupAxis::block(std::int64_t i) const {
  const bool isEdge = i < inside.lo || i >= inside.hi;
  const std::int64_t at = i < inside.lo ? i : isEdge ? i - inside.length() : (i - inside.lo) % std::ssize(insideFrom);
  return {i * length, anchorOf(relation, i * length), (isEdge ? edge : insideFrom)[static_cast<std::size_t>(at)]};
}

std::vector<std::int64_t> GroupAxis::patternOf(Range run) const {
  if (inside.lo <= run.lo && run.hi <= inside.hi) return {run.length(), (run.lo - inside.lo) % std::ssize(insideFrom)};
  std::vector<std::int64_t> pattern{-1};
  for (std::int64_t i = run.lo; i < run.hi; ++i) {
    const GroupBlock b = block(i);
    pattern.insert(pattern.end(), {b.cls, b.anchor - block(run.lo).anchor});
  }
  return pattern;
}

GroupAxis makeGroupAxis(const AxisRelation& rel, std::int64_t length) {
  limitWork(static_cast<double>(rel.results) / static_cast<double>(length), kMostSteps, "blocks of an axis");
  GroupAxis axis;
  axis.relation = rel;
  axis.length = length;
  const auto whole = [&](std::int64_t i) { return isInside(rel, i * length, (i + 1) * length - 1); };
  axis.inside = {0, axis.blocks()};
  while (axis.inside.length() > 0 && !whole(axis.inside.lo)) ++axis.inside.lo;
  while (axis.inside.length() > 0 && !whole(axis.inside.hi - 1)) --axis.inside.hi;
  ClassNumbers<GroupBlockClass> known;
  const auto classOf = [&](std::int64_t i) {
    const std::int64_t start = i * length, anchor = anchorOf(rel, start);
    GroupBlockClass cls;
    cls.length = std::min(length, rel.results - start);
    for (std::int64_t u = 0; u < cls.length; ++u) {
      forEachTap(rel, start + u,
                 [&](std::int64_t k, std::int64_t operand) { cls.pairs.push_back({u, k, operand - anchor}); });
    }
    std::sort(cls.pairs.begin(), cls.pairs.end(),
              [](const TapPair& x, const TapPair& y) { return x.k != y.k ? x.k < y.k : x.u < y.u; });
    const auto [number, fresh] = known.of(cls);
    if (fresh) {
      axis.reach.push_back(reachOf(cls));
      axis.classes.push_back(std::move(cls));
    }
    return number;
  };
  const std::int64_t residues = rel.gather ? rel.stride / std::gcd(rel.stride, length) : 1;
  for (std::int64_t i = 0; i < axis.inside.lo; ++i) axis.edge.push_back(classOf(i));
  for (std::int64_t i = 0; i < std::min(residues, axis.inside.length()); ++i)
    axis.insideFrom.push_back(classOf(axis.inside.lo + i));
  for (std::int64_t i = axis.inside.hi; i < axis.blocks(); ++i) axis.edge.push_back(classOf(i));
  return axis;
}

Range operandRange(const GroupAxis& axis, std::int64_t begin, std::int64_t end) {
  bool any = false;
  Range range;
  for (std::int64_t i = begin; i < end; ++i) {
    const GroupBlock block = axis.block(i);
    const Range& reach = axis.reach[static_cast<std::size_t>(block.cls)];
    if (reach.length() == 0) continue;
    range.lo = any ? std::min(range.lo, block.anchor + reach.lo) : block.anchor + reach.lo;
    range.hi = any ? std::max(range.hi, block.anchor + reach.hi) : block.anchor + reach.hi;
    any = true;
  }
  return range;
}

}  // namespace cubejit
