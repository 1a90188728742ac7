// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a task of a weight gradient packs an operand: the reduction block's pixels, and only the channels the task works on.
// Leaves which operands are packed to the plan.
#pragma once

#include <cstdint>

#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/lower/pixel_blocks.h"

namespace cubejit {

/// Positions that a panel of any of the blocks has room for.
struct PanelExtent {
  std::int64_t images = 1;
  Dhw positions;
};
PanelExtent panelExtent(const ConvView& view, const PixelBlocks& blocks, bool big);

/// A panel [image][plane][row][column][channel] of f32, or of words of that size; columns are a multiple of `spacing`.
Pitches panelPitches(const PanelExtent& extent, std::int64_t pixelBytes, std::int64_t spacing = 1);

struct PackedPixels {
  bool big = true;  ///< the view's big tensor, or its small one
  const Operand& operand;
  PanelExtent extent;
  ChannelPart part;
  PanelMove move;  ///< how neighbouring pixels become words of the panel; how many there are is decided here
};

/// Moves the block's part of a tensor into its panel: per image and plane one matrix, if rows of W follow each other in both.
/// The classes of `blockAxis` and `partAxis` tell what there is to load.
Node packPixels(ProgramBuilder& b, const ConvView& view, const PixelBlocks& blocks, const PackedPixels& p,
                int blockAxis, int partAxis);

}  // namespace cubejit
