// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one axis of a data gradient is cut into slabs (what a task works on, and what a panel holds) and how the blocks
// inside a slab are numbered, so that a two-level loop with additive offsets reaches every block.
// Leaves phases and their taps to axis_phases.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/axis_phases.h"

namespace cubejit {

/// What blocks of one class share: their length and tap list.
struct BlockClass {
  std::int64_t length = 0;
  std::vector<BlockTap> taps;
  friend bool operator==(const BlockClass& x, const BlockClass& y) = default;
};

/// A contiguous range of result positions with the operand positions it reads, both clipped to the tensors.
struct Slab {
  std::int64_t resultStart = 0, resultCount = 0;
  std::int64_t operandOrigin = 0;  ///< operand position that panel row 0 stands for (may lie outside the tensor)
  std::int64_t operandStart = 0, operandCount = 0;
  std::int64_t operandBase = 0;  ///< operandStep * first j of the slab
  int cls = 0;
};

/// The same block of every slab: offsets relative to the slab.
struct SlabLocal {
  std::int64_t resultOffset = 0;   ///< from Slab::resultStart
  std::int64_t operandOffset = 0;  ///< from Slab::operandBase
  int cls = 0;                     ///< locals of one class have equal blocks in every slab
};

struct SlabAxis {
  std::int64_t resultStep = 1, operandStep = 1;
  std::vector<BlockClass> classes;
  std::vector<Slab> slabs;
  std::vector<SlabLocal> locals;
  int slabClasses = 0;
  int localClasses = 0;
  std::vector<std::vector<int>>
      blockClass;  ///< [slab class][local class] -> index into classes, -1 if there is no such block
  std::vector<std::int64_t> operandCountOf;  ///< [slab class]
  std::vector<std::int64_t> resultCountOf;   ///< [slab class]
  std::int64_t panelOperandRows = 1;         ///< most operand positions a slab spans
  std::int64_t panelResultRows = 1;          ///< most result positions a slab holds
};

/// Slabs of `slabLength` results per phase (a multiple of `blockLength`; 0 = the whole axis).
SlabAxis makeSlabAxis(const AxisRelation& relation, std::int64_t blockLength, std::int64_t slabLength);

}  // namespace cubejit
