// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for one spatial axis of a data gradient, which kernel taps reach which result positions: the axis is cut into
// residue classes of the stride, and each of them into blocks; padding only shortens the tap list of a block.
// No zero is ever inserted or multiplied. Leaves the combination of axes to lower_data.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "tiling/rounding.h"

namespace cubejit {

/// A tap as seen by one block: result row u of the block (lo <= u < hi) reads operand position operandStep*(j0+u) + offset.
struct BlockTap {
  std::int64_t k = 0;       ///< kernel index on this axis
  std::int64_t offset = 0;  ///< operand position relative to operandStep * j0
  std::int64_t lo = 0, hi = 0;
  friend auto operator<=>(const BlockTap& x, const BlockTap& y) = default;
};

/// The relation of one axis. gather: results are positions i of the big tensor (ordinary dX); else positions o of the small one.
struct AxisRelation {
  bool gather = true;
  std::int64_t results = 1, operands = 1;  ///< extents
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
};

/// Result positions start, start + step, ... that share their taps' residue. Forward relations have one class.
struct ResidueClass {
  std::int64_t start = 0, count = 0;
  std::vector<BlockTap> taps;  ///< lo, hi in the class' own index j
};
namespace residue_classes_detail {
inline std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

// The j in [0, count) with 0 <= step*j + offset < operands.
inline BlockTap validRange(std::int64_t k, std::int64_t offset, std::int64_t step, std::int64_t count,
                           std::int64_t operands) {
  const std::int64_t lo = std::max<std::int64_t>(0, ceilDiv(-offset, step));
  const std::int64_t hi = std::min(count, floorDiv(operands - 1 - offset, step) + 1);
  return BlockTap{k, offset, lo, std::max(lo, hi)};
}

}  // namespace residue_classes_detail

/// Only classes that some tap reaches; the results of the others are zero.
inline std::vector<ResidueClass> residueClasses(const AxisRelation& rel) {
  using namespace residue_classes_detail;
  std::vector<ResidueClass> residues;
  if (!rel.gather) {
    ResidueClass residue{0, rel.results, {}};
    for (std::int64_t k = 0; k < rel.kernel; ++k) {
      const BlockTap tap = validRange(k, k * rel.dilation - rel.pad, rel.stride, residue.count, rel.operands);
      if (tap.lo < tap.hi) residue.taps.push_back(tap);
    }
    residues.push_back(std::move(residue));
    return residues;
  }
  std::vector<std::pair<std::int64_t, BlockTap>> taps;  // with the residue class of each
  for (std::int64_t k = 0; k < rel.kernel; ++k) {
    const std::int64_t shift = k * rel.dilation - rel.pad;  // i = o*stride + shift
    const std::int64_t r = shift - floorDiv(shift, rel.stride) * rel.stride;
    if (r >= rel.results) continue;
    const std::int64_t count = ceilDiv(rel.results - r, rel.stride);
    const BlockTap tap = validRange(k, (r - shift) / rel.stride, 1, count, rel.operands);
    if (tap.lo < tap.hi) taps.emplace_back(r, tap);
  }
  std::stable_sort(taps.begin(), taps.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [r, tap] : taps) {
    if (residues.empty() || residues.back().start != r)
      residues.push_back(ResidueClass{r, ceilDiv(rel.results - r, rel.stride), {}});
    residues.back().taps.push_back(tap);
  }
  return residues;
}

/// True if some result position belongs to no class, so that results must be zeroed first.
inline bool leavesGaps(const AxisRelation& rel, const std::vector<ResidueClass>& residues) {
  const std::int64_t needed = rel.gather ? std::min(rel.stride, rel.results) : std::min<std::int64_t>(1, rel.results);
  return static_cast<std::int64_t>(residues.size()) < needed;
}

}  // namespace cubejit
