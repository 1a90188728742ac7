// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for one spatial axis of a data gradient, which kernel taps reach which result positions: the axis is cut into
// residue classes (phases) of the stride and each phase into blocks; padding only shortens the tap list of a block.
// No zero is ever inserted or multiplied. Leaves the combination of axes to lower_data.
#pragma once

#include <cstdint>
#include <vector>

namespace cubejit {

/// A tap as seen by one block: result row u of the block (lo <= u < hi) reads operand position operandStep*(j0+u) + offset.
struct BlockTap {
  std::int64_t k = 0;       ///< kernel index on this axis
  std::int64_t offset = 0;  ///< operand position relative to operandStep * j0
  std::int64_t lo = 0, hi = 0;
  friend bool operator==(const BlockTap& x, const BlockTap& y) = default;
};

/// Consecutive results of one phase: positions resultStart + resultStep*u, u < length.
struct AxisBlock {
  std::int64_t resultStart = 0;   ///< position of u = 0
  std::int64_t operandStart = 0;  ///< operandStep * j0
  std::int64_t length = 0;
  int cls = 0;                    ///< index into DataAxis::classes
  friend bool operator==(const AxisBlock& x, const AxisBlock& y) = default;
};

/// What blocks of one class share: their length and tap list.
struct BlockClass {
  std::int64_t length = 0;
  std::vector<BlockTap> taps;
  friend bool operator==(const BlockClass& x, const BlockClass& y) = default;
};

struct DataAxis {
  std::int64_t resultStep = 1, operandStep = 1;
  std::vector<AxisBlock> blocks;
  std::vector<BlockClass> classes;
};

/// The relation of one axis. gather: results are positions i of the big tensor (ordinary dX); else positions o of the small one.
struct AxisRelation {
  bool gather = true;
  std::int64_t results = 1, operands = 1;  ///< extents
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
};

/// Phases of the axis: result positions r, r + step, ... that share their taps' residue. Forward relations have one.
struct AxisPhase {
  std::int64_t start = 0, count = 0;
  std::vector<BlockTap> taps;  ///< lo, hi in the phase's own index j
};
std::vector<AxisPhase> axisPhases(const AxisRelation& relation);

/// Cuts every phase into blocks of `blockLength` (the last may be shorter), phase by phase.
DataAxis makeDataAxis(const AxisRelation& relation, std::int64_t blockLength);

}  // namespace cubejit
