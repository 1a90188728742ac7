// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a weight gradient is summed up in the tiles of a matrix unit: channels of the big tensor are rows, those of the small one columns,
// pairs of neighbouring pixels what a product sums up. The big tensor's panel is [channel][pixel], so that another tap is another offset, the
// small one's [pair of pixels][channel]. Leaves tasks and the way of the sums into dw to lower.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/direct_weights/flat_rows.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/lower/pixel_blocks.h"

namespace cubejit {

class WeightTiles {
 public:
  WeightTiles(const ConvView& view, const PixelBlocks& blocks, const ChannelPart& big, const ChannelPart& small,
              int lanes);

  /// Gives the operands their panels.
  void pack(ProgramBuilder& b, Operand& big, Operand& small) const;
  /// Fills those of a reduction block, whose streams begin at what it reads of the tensors.
  std::vector<Node> load(ProgramBuilder& b, const Operand& big, const Operand& small, int blockAxis, int bigPartition,
                         int smallPartition) const;

  /// A block of `rows` by `columns` channels, of a reduction block of the class; rows of sums lie `pitch` bytes apart.
  TileProduct product(int cls, std::int64_t rows, std::int64_t columns, std::int64_t pitch) const;
  /// What it walks over for a tap; empty if that reaches no pixel.
  SegmentList segments(int cls, const Dhw& tap) const;

 private:
  struct Positions;
  Positions positions(const PixelBlock& block, int axis, std::int64_t residue) const;
  PairProducts products(const PixelBlock& block) const;
  std::int64_t bigColumns(const PixelBlock& block) const;
  std::int64_t residueBytes() const;
  std::vector<Node> loadBig(ProgramBuilder& b, const Operand& big, int blockAxis, int partition) const;
  std::vector<Node> loadSmall(ProgramBuilder& b, const Operand& small, int blockAxis, int partition) const;

  const ConvView& v_;
  const PixelBlocks& blocks_;
  const ChannelPart big_, small_;
  const int lanes_;
  const std::int64_t row_;  ///< columns from a row to the next
  const TapReach alongH_, alongW_;
  std::vector<std::int64_t> ofH_, ofW_;  ///< residues that taps read
  Pitches bigPitch_, smallPitch_;        ///< of images, planes and channels; w: of a pair of pixels
};

}  // namespace cubejit
