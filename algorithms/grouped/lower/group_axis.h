// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for one axis of a grouped data gradient, blocks of consecutive results (all residue classes together) and the
// (result, tap) pairs of each: the pairs that padding or stride rule out are simply absent, so no zero is ever multiplied.
// Leaves how pairs become instructions to lower_data.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/range.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {

struct TapPair {
  std::int64_t u = 0;       ///< result, relative to the block
  std::int64_t k = 0;       ///< kernel position
  std::int64_t offset = 0;  ///< operand position, relative to the block's anchor
  friend bool operator==(const TapPair& x, const TapPair& y) = default;
  friend auto operator<=>(const TapPair& x, const TapPair& y) = default;
};

/// What blocks of one class share; pairs are ordered by k, then u.
struct GroupBlockClass {
  std::int64_t length = 0;
  std::vector<TapPair> pairs;
  friend bool operator==(const GroupBlockClass& x, const GroupBlockClass& y) = default;
  friend auto operator<=>(const GroupBlockClass& x, const GroupBlockClass& y) = default;
};

struct GroupBlock {
  std::int64_t start = 0, anchor = 0;  ///< first result; the operand position offsets are relative to (may lie outside)
  int cls = 0;
};

struct GroupAxis {
  AxisRelation relation;
  std::int64_t length = 1;      ///< results of a block
  Range inside;                 ///< blocks at which every tap finds an operand, where strides let it
  std::vector<int> edge;        ///< classes of the blocks before and behind those
  std::vector<int> insideFrom;  ///< and of the first ones of those, which come again and again
  std::vector<GroupBlockClass> classes;
  std::vector<Range>
      reach;  ///< [class] -> operand positions that its pairs read, from the anchor; empty if it has none

  std::int64_t blocks() const { return ceilDiv(relation.results, length); }
  GroupBlock block(std::int64_t i) const;
  /// Equal for runs of as many blocks that have the same classes and anchors, counted from the first one's.
  std::vector<std::int64_t> patternOf(Range run) const;
};

/// Blocks of `length` results; the last one may be shorter.
GroupAxis makeGroupAxis(const AxisRelation& relation, std::int64_t length);

/// Operand positions that blocks [begin, end) read, clipped to the tensor; empty if none.
Range operandRange(const GroupAxis& axis, std::int64_t begin, std::int64_t end);

}  // namespace cubejit
