// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for a grouped weight gradient, how a reduction block's pixels are grouped into sections: runs of columns with the (column, tap)
// pairs they take part in, and runs of rows with the same valid taps. Leaves loops, panels and scratch to lower_weights.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/grouped/lower/group_blocks.h"
#include "algorithms/kit/lower/pixel_blocks.h"

namespace cubejit {

/// Taps and group channels held in accumulators at once.
struct TapBlock {
  Range h, w, channels;
  friend bool operator==(const TapBlock& x, const TapBlock& y) = default;
};

/// Neighbouring columns of one step. Pairs are (column relative to the step, tap relative to the block).
struct ColumnStep {
  std::int64_t start = 0;  ///< relative to the section
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  friend bool operator==(const ColumnStep& x, const ColumnStep& y) = default;
};

/// One section of the microkernel, as a value. Rows use taps [tapLo, tapHi) of the block along H.
struct PixelSection {
  std::vector<ColumnStep> steps;
  std::int64_t tapLo = 0, tapHi = 0;
  bool alongRows = false;  ///< the outer loop goes down the rows; else along W, `columns` at a time
  std::int64_t columns = 0;
  friend bool operator==(const PixelSection& x, const PixelSection& y) = default;
};

/// A run of pixels: where a section's segments start, relative to the block.
struct PixelRun {
  std::size_t section = 0;
  std::int64_t row = 0, column = 0, outer = 1;
};

/// The runs of one depth of one image; sections that are not known yet are added. `columns` a step; rows whose steps take at most
/// `unrolledUses` multiply-accumulates are one step sequence.
std::vector<PixelRun> makePixelRuns(const ConvView& view, const PixelBlock& block, const TapBlock& taps,
                                    std::int64_t columns, std::int64_t unrolledUses,
                                    std::vector<PixelSection>& sections);

/// The blocks of channels that a microkernel works on side by side, and how many bytes apart they are.
struct GroupWeightsUnit {
  std::vector<std::int64_t> groups;  ///< of each
  std::int64_t bigPitch = 0, smallPitch = 0, accumulatorPitch = 0;
};

/// The microkernel, the same for all blocks with as many taps and the same channels: accumulators [taps h][taps w][channel of a group] in
/// scratch order, one section per PixelSection.
Contract groupedWeightsKernel(const ConvView& view, const std::vector<PixelSection>& sections, const TapBlock& taps,
                              const GroupLanes& lanes, const GroupWeightsUnit& unit, bool bigIsPermuted,
                              const Operand& big, const Operand& small);

}  // namespace cubejit
