// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the pixels a weight gradient sums over are split into reduction blocks, and which of a block's pixels each kernel tap uses.
// A block is what a tile of dW sums before the next tile's turn, so that its operands stay in cache.
// Leaves the instructions to the rooms.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/kit/column_runs.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/range.h"
#include "cubejit/plan_parts.h"

namespace cubejit {

/// Pixels of the small tensor: images x depths x rows x columns.
struct PixelBlock {
  Range n, d, h, w;
  bool first = false;  ///< the first of its reduction split: accumulators start from zero
  int cls = 0;         ///< blocks of one class differ only by where they start
  const Range& of(int axis) const { return axis == 0 ? d : axis == 1 ? h : w; }
  Range& of(int axis) { return axis == 0 ? d : axis == 1 ? h : w; }
};

struct PixelBlocks {
  std::vector<PixelBlock> blocks;
  int classes = 0;
  std::vector<int> representative;  ///< a block of each class
  const PixelBlock& ofClass(int cls) const {
    return blocks[static_cast<std::size_t>(representative[static_cast<std::size_t>(cls)])];
  }
};

/// All blocks, images first; `splits` contiguous groups of them are summed apart (each group's first block is marked).
PixelBlocks makePixelBlocks(const ConvView& view, const ReductionBlock& size, std::int64_t splits);

/// The pixels of a block along an axis, relative to its first, that tap `k` uses: those it does not put into the padding.
Range usedPixels(const ConvView& view, int axis, const PixelBlock& block, std::int64_t k);

/// Runs of the block's columns for the taps k0 .. k0+taps along W, relative to the block and to k0.
std::vector<ColumnRun> columnRuns(const ConvView& view, const PixelBlock& block, std::int64_t k0, std::int64_t taps);

/// The big tensor's positions that a block of pixels needs along an axis, those in the padding left out, and where offsets of
/// microkernels count from: the position that tap 0 of the first pixel uses. Panels have whole rows, but of lines.
struct BigPositions {
  Range inside;
  BlockStart start;
};
BigPositions bigPositions(const ConvView& view, int axis, const PixelBlock& block);

/// The axis of a sum over pixels, whose steps are the blocks, and its partition.
struct ReductionAxes {
  int blocks, split;
};
/// The blocks are split into `parts` parts, each of which adds up sums of its own: stream `sums` starts at those of the first part, and those of
/// each further part lie `partBytes` behind the part before.
ReductionAxes addReductionAxes(ProgramBuilder& b, const ConvView& view, const PixelBlocks& blocks, const Operand& big,
                               const Operand& small, int sums, std::int64_t parts, std::int64_t partBytes);

}  // namespace cubejit
