// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves between an activation tensor of any type and layout and a panel [pixel][channel]: which channels one move
// takes, and what a panel's element is. Leaves pixels and loops to data_panels and weights_panels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/epilogue.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// What a panel holds.
enum class PanelElements : std::uint8_t {
  kWide,          ///< f32 (HF32 operands rounded)
  kChannelPairs,  ///< bf16, two channels a word; with the last one alone goes a zero
  kHalves,        ///< 16-bit channels as they are
  kPixelPairs     ///< words of bf16: a pixel's channel, and the same channel `pairBytes` further on
};

/// Bytes of a channel in the panel.
constexpr std::int64_t panelChannelBytes(PanelElements e) {
  return e == PanelElements::kChannelPairs || e == PanelElements::kHalves ? 2 : 4;
}

/// Neighbouring channels that one move takes.
struct ChannelPiece {
  std::int64_t tensorOffset = 0, panelOffset = 0, channels = 0;
  std::int64_t missing = 0;  ///< channels of the tensor's last block, or of a pair in the panel, that do not exist
};

/// The pieces of `channels` channels that begin at the start of a block.
std::vector<ChannelPiece> channelPieces(const TensorView& t, std::int64_t channels, PanelElements elements);

/// An axis over them, a class each, which moves both streams.
int addPieceAxis(ProgramBuilder& b, std::string name, const std::vector<ChannelPiece>& pieces, int tensor, int panel);

struct PanelMove {
  int lanes = 16;
  std::int64_t pixels = 0, panelPitch = 0;  ///< neighbours in the tensor; bytes between pixels in the panel
  PanelElements elements = PanelElements::kWide;
  std::int64_t pairBytes = 0;  ///< kPixelPairs
  std::int64_t singles = 0;    ///< kPixelPairs: the last so many pixels have no second member
  std::int64_t wordSpacing =
      1;  ///< kPixelPairs: pixels from a word's first member to the next word's; see pixel_pairs.h
};
Kernel loadMove(const TensorView& t, const ChannelPiece& piece, const PanelMove& m);
/// From a panel of f32 to the tensor; what is missing in its last block becomes zero.
Kernel storeMove(const TensorView& t, const ChannelPiece& piece, const PanelMove& m);
/// Which of what it stores are channels.
StoredChannels storedChannels(const TensorView& t);

}  // namespace cubejit
