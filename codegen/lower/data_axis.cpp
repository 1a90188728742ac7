// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides phases, blocks and their tap ranges on one axis (see the header for the model).
#include "codegen/lower/data_axis.h"

#include <algorithm>
#include <utility>

namespace cubejit {
namespace {

std::int64_t floorDiv(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0); }
std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return -floorDiv(-a, b); }

// The j in [0, count) with 0 <= step*j + offset < operands.
BlockTap validRange(std::int64_t k, std::int64_t offset, std::int64_t step, std::int64_t count, std::int64_t operands) {
  const std::int64_t lo = std::max<std::int64_t>(0, ceilDiv(-offset, step));
  const std::int64_t hi = std::min(count, floorDiv(operands - 1 - offset, step) + 1);
  return BlockTap{k, offset, lo, std::max(lo, hi)};
}

}  // namespace

std::vector<AxisPhase> axisPhases(const AxisRelation& rel) {
  std::vector<AxisPhase> phases;
  if (!rel.gather) {
    AxisPhase phase{0, rel.results, {}};
    for (std::int64_t k = 0; k < rel.kernel; ++k) {
      const BlockTap tap = validRange(k, k * rel.dilation - rel.pad, rel.stride, phase.count, rel.operands);
      if (tap.lo < tap.hi) phase.taps.push_back(tap);
    }
    phases.push_back(std::move(phase));
    return phases;
  }
  for (std::int64_t r = 0; r < std::min(rel.stride, rel.results); ++r) {
    AxisPhase phase{r, ceilDiv(rel.results - r, rel.stride), {}};
    for (std::int64_t k = 0; k < rel.kernel; ++k) {
      const std::int64_t position = r + rel.pad - k * rel.dilation;
      if (position - floorDiv(position, rel.stride) * rel.stride != 0) continue;
      const BlockTap tap = validRange(k, floorDiv(position, rel.stride), 1, phase.count, rel.operands);
      if (tap.lo < tap.hi) phase.taps.push_back(tap);
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

DataAxis makeDataAxis(const AxisRelation& rel, std::int64_t blockLength) {
  DataAxis axis;
  axis.resultStep = rel.gather ? rel.stride : 1;
  axis.operandStep = rel.gather ? 1 : rel.stride;
  for (const AxisPhase& phase : axisPhases(rel)) {
    for (std::int64_t j0 = 0; j0 < phase.count; j0 += blockLength) {
      BlockClass cls;
      cls.length = std::min(blockLength, phase.count - j0);
      for (const BlockTap& tap : phase.taps) {
        const std::int64_t lo = std::max<std::int64_t>(0, tap.lo - j0), hi = std::min(cls.length, tap.hi - j0);
        if (lo < hi) cls.taps.push_back(BlockTap{tap.k, tap.offset, lo, hi});
      }
      auto found = std::find(axis.classes.begin(), axis.classes.end(), cls);
      const int index = static_cast<int>(found - axis.classes.begin());
      AxisBlock block{phase.start + axis.resultStep * j0, axis.operandStep * j0, cls.length, index};
      if (found == axis.classes.end()) axis.classes.push_back(std::move(cls));
      axis.blocks.push_back(block);
    }
  }
  return axis;
}

}  // namespace cubejit
