// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a task of a weight gradient stages an operand: the chunk's pixels, and only the channels the task works on.
// Leaves which operands are staged to the plan.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/direct_weights/pixel_pairs.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/lower/pixel_chunks.h"

namespace cubejit {

/// Byte distances between neighbouring positions of an operand as the kernel sees it (tensor or panel).
struct Pitches {
  std::int64_t n = 0, d = 0, h = 0, w = 0;
  ChannelPitch c;
};

/// The channels of one operand, `blocks` of `each` (the last one narrower), dealt out in `parts`; a task works on one part.
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

struct StagedOperand {
  bool big = true;  ///< the view's big tensor, or its small one
  Pitches panel;
  ChannelPart part;
  std::int64_t images = 1, planes = 1;  ///< most of them in a chunk
  int lanes = 16;
  PixelPairs pairs = PixelPairs::kNone;
};

/// Axes whose classes tell what to load: the chunk, and the part of the channels.
struct LoadAxes {
  int chunk = -1, part = -1;
};

/// Moves the chunk's part of a tensor into its panel: per image and plane one matrix (rows of W are contiguous in both).
Node stagedLoad(ProgramBuilder& b, const ConvView& view, const ChunkList& chunks, const StagedOperand& o, LoadAxes axes,
                int source, int sink);

}  // namespace cubejit
