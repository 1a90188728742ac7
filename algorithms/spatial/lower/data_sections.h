// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the kernels of spatial dX: accumulators are [row][residue class][channel][vector], a step multiplies the vectors of
// one operand row at one shift by the weights of every result row that it reaches.
// Leaves what lies where along W to data_tiles, loops and panels to lower_data.
#pragma once

#include <map>
#include <tuple>

#include "algorithms/kit/lower/blocked_axis.h"
#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/spatial/lower/data_tiles.h"

namespace cubejit {

/// What kernels see of memory: types and bytes between neighbours.
struct SpatialPitches {
  Element operand = Element::kF32, result = Element::kF32;
  Pitches operandPitch;
  std::int64_t operandRow = 1;  ///< operand rows between neighbouring result rows of a block
  /// Result: bytes between rows of a tile, residue classes, channels.
  std::int64_t resultRow = 0, resultResidue = 0, resultChannel = 0;
  bool cut = false;  ///< results end where their row ends (they lie in the tensor)
};

class SpatialDataSections {
 public:
  /// `epilogue`: of results that kernels store; null: they store to panels.
  SpatialDataSections(ProgramBuilder& b, const SpatialShape& shape, const SpatialDataPlan& plan,
                      const SpatialPitches& pitches, Epilogue* epilogue)
      : b_(b), shape_(shape), plan_(plan), pitches_(pitches), epilogue_(epilogue) {}

  /// The kernel and its list for blocks d and h of planes and rows, `channels` result channels, and a block along W.
  Variant variant(const BlockClass& d, const BlockClass& h, std::int64_t channels, std::int64_t block);

 private:
  /// An operand row from the block's first, and which result rows it reaches through which tap along H.
  struct RowTaps {
    struct Use {
      std::int64_t row = 0, k = 0;
      friend bool operator==(const Use& x, const Use& y) = default;
    };
    std::int64_t operandRow = 0;
    std::vector<Use> uses;
  };

  /// How a block's products are cut into sections.
  struct Cut {
    bool rowsInside = false;    ///< all operand rows are steps of a section; else a segment is one tap along H
    bool shiftsInside = false;  ///< all shifts are steps of a section; else a segment is one shift
    std::int64_t rows = 1;      ///< result rows
    std::vector<RowTaps> taps;
    std::int64_t unroll = 1;  ///< reduction channels an iteration
  };

  Cut cutOf(const BlockClass& h, std::int64_t block) const;
  std::vector<LaneRange> readable(std::size_t shift, std::int64_t block) const;
  int kernelFor(const Cut& cut, std::int64_t channels, std::int64_t block);
  Section sectionFor(const Cut& cut, std::int64_t channels, std::int64_t block, std::int64_t reduced) const;
  Step stepFor(const RowTaps& row, std::size_t shift, std::int64_t channels, std::int64_t block, std::int64_t aOffset,
               std::int64_t bOffset) const;

  ProgramBuilder& b_;
  const SpatialShape& shape_;
  const SpatialDataPlan& plan_;
  const SpatialPitches pitches_;
  Epilogue* const epilogue_;
  /// By block class of rows (if rows are inside), channels, block of W.
  std::map<std::tuple<const BlockClass*, std::int64_t, std::int64_t>, int> kernels_;
};

}  // namespace cubejit
