// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a data gradient of the spatial algorithm looks like along W (residue classes, shifts, blocks of lanes) and where its
// packed weights lie. Leaves rows and planes to slab_axis, instructions to data_sections.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/spatial/plan.h"
#include "cubejit/machine.h"

namespace cubejit {

/// Taps along W that share one operand offset.
struct TapShift {
  std::int64_t offset = 0;
  std::uint64_t residues = 0;         ///< which residues have a tap here
  std::vector<std::int64_t> kernelW;  ///< its kernel index, per residue (-1 = none)
};

/// Neighbouring blocks along W, of one class.
struct LaneBlocks {
  std::int64_t first = 0, count = 1;
  int cls = 0;
};

struct SpatialShape {
  DataGradient g;
  int lanes = 16;
  std::vector<ResidueClass> residues;  ///< along W
  std::vector<TapShift> shifts;
  std::int64_t reduced = 1;           ///< channels of the operand
  std::int64_t registerChannels = 1;  ///< result channels of a tile
  std::int64_t channelBlocks = 1;     ///< tiles of result channels
  std::int64_t rowsPacked = 1;        ///< weights of a reduction channel and a shift: [residue][channel of the tile]
  std::int64_t longest = 0;           ///< pixels of the longest residue
  std::int64_t blockLanes = 16;       ///< pixels of a block along W

  SpatialShape(const Problem& problem, const SpatialDataPlan& plan, const Machine& machine);

  std::int64_t blocks() const { return (longest + blockLanes - 1) / blockLanes; }
  std::int64_t vectorsOf(std::int64_t block) const;

  /// All blocks in order, neighbours of one class together. Those of a class have as many vectors, which read and hold the same lanes; classes
  /// are numbered as they are first seen.
  std::vector<LaneBlocks> blockRuns() const;

  /// Lanes of vector v of a block that may read the operand at `offset`; {0, -1} if none may.
  LaneRange readable(std::int64_t offset, std::int64_t block, std::int64_t v) const;

  /// Bytes of packed weights of one (kd, kh, shift), and of one tile of result channels; where those of a tap start.
  std::int64_t shiftBytes() const { return reduced * rowsPacked * 4; }
  std::int64_t blockBytes() const;
  std::int64_t slotOf(std::int64_t kd, std::int64_t kh, std::size_t shift) const;

 private:
  void collectShifts();
};

constexpr LaneRange kNoLanes{0, -1};

}  // namespace cubejit
