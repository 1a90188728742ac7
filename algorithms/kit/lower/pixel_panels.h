// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a task of a weight gradient packs an operand: the reduction block's pixels, and only the channels the task works on.
// Leaves which operands are packed to the plan.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/lower/pixel_blocks.h"

namespace cubejit {

/// The channels of one operand, `blocks` of `each` (the last one narrower), in `parts` partitions; a task works on one of them.
/// What is loaded for a part begins at a whole block of a blocked tensor, so with a few channels more.
struct ChannelPart {
  std::int64_t parts = 1, blocks = 1, each = 1, channels = 1;
  std::int64_t align = 1;  ///< channels of a tensor's block

  std::int64_t begin(std::int64_t part) const { return blocks * part / parts * each; }
  std::int64_t count(std::int64_t part) const {
    return std::min(blocks * (part + 1) / parts * each, channels) - begin(part);
  }
  std::int64_t loadBegin(std::int64_t part) const { return begin(part) / align * align; }
  std::int64_t loadCount(std::int64_t part) const { return begin(part) + count(part) - loadBegin(part); }
  std::int64_t mostLoaded() const {
    std::int64_t most = 0;
    for (std::int64_t part = 0; part < parts; ++part) most = std::max(most, loadCount(part));
    return most;
  }
};

/// Positions that a panel of any of the blocks has room for.
struct PanelExtent {
  std::int64_t images = 1;
  Dhw positions;
};
PanelExtent panelExtent(const ConvView& view, const PixelBlocks& blocks, bool big);

/// A panel [image][plane][row][column][channel] of f32, or of words of that size; columns are a multiple of `spacing`.
Pitches panelPitches(const PanelExtent& extent, std::int64_t pixelBytes, std::int64_t spacing = 1);

/// Steps of the axis of partitions: panels, and what is read for them, begin with the part's first channel.
void startAtPart(ProgramBuilder& b, int axis, const ChannelPart& part, const Operand& o);

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
