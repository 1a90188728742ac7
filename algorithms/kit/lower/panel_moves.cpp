// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides kinds and types of the moves. Plain tensors are transposed, the others copied row by row.
#include "algorithms/kit/lower/panel_moves.h"

#include <algorithm>
#include <utility>

#include "algorithms/kit/rates.h"

namespace cubejit {

std::vector<ChannelPiece> channelPieces(const TensorView& t, std::int64_t channels, PanelElements elements) {
  const std::int64_t bytes = panelChannelBytes(elements);
  std::vector<ChannelPiece> pieces;
  if (elements == PanelElements::kChannelPairs && shortPixels(t, channels)) return {{0, 0, channels, channels % 2}};
  if (elements == PanelElements::kChannelPairs && channels % 2 != 0) {
    if (channels > 1) pieces = channelPieces(t, channels - 1, elements);
    pieces.push_back({t.channelOffset(channels - 1), (channels - 1) * bytes, 1, 0});
    return pieces;
  }
  if (t.c0 == 1 && elements == PanelElements::kChannelPairs) {  // words of two blocks
    for (std::int64_t c = 0; c < channels; c += 2) pieces.push_back({t.channelOffset(c), c * bytes, 2, 0});
  } else if (t.c0 > 0) {
    for (std::int64_t c = 0; c < channels; c += t.c0) {
      const std::int64_t count = std::min(t.c0, channels - c);
      pieces.push_back({t.channelOffset(c), c * bytes, count, t.c0 - count});
    }
  } else {
    pieces.push_back({0, 0, channels, 0});
  }
  return pieces;
}

int addPieceAxis(ProgramBuilder& b, std::string name, const std::vector<ChannelPiece>& pieces, int tensor, int panel) {
  const int axis = b.addAxis(std::move(name), static_cast<int>(pieces.size()));
  for (std::size_t i = 0; i < pieces.size(); ++i)
    b.addStep(axis, {{tensor, pieces[i].tensorOffset}, {panel, pieces[i].panelOffset}}, static_cast<int>(i));
  return axis;
}

Kernel loadMove(const TensorView& t, const ChannelPiece& piece, const PanelMove& m) {
  Copy move{.lanes = m.lanes,
            .rows = t.plain() ? piece.channels : m.pixels,
            .cols = t.plain() ? m.pixels : piece.channels,
            .srcPitch = t.plain() ? t.cStride : t.wStride,
            .dstPitch = m.panelPitch,
            .label = "load_panel"};
  switch (m.elements) {
    case PanelElements::kWide:
      move.from = storedElement(t.dtype);
      move.to = isHf32(t.dtype) ? elementOf(t.dtype) : Element::kF32;
      break;
    case PanelElements::kChannelPairs:
      if (piece.channels == 1 && piece.missing == 0) {
        move.from = Element::kPair;  // behind whole pairs: its second member is missing
      } else if (shortPixels(t, piece.channels)) {
        move.from = move.to = Element::kHalf;
        move.padCols = piece.missing;
      } else if (t.c0 == 1) {
        move.from = Element::kPair;
        move.pairPitch = t.blockStride;
        move.cols = 1;
      } else if (t.plain()) {
        move.from = Element::kPair;
        move.pairPitch = t.cStride;
        move.rows = piece.channels / 2;
        move.srcPitch = 2 * t.cStride;
      } else {
        move.from = move.to = Element::kHalf;
      }
      break;
    case PanelElements::kHalves: move.from = move.to = Element::kHalf; break;
    case PanelElements::kPixelPairs:
      move.from = Element::kPair;
      move.pairPitch = m.pairBytes;
      move.pairsCut = std::min(m.singles, m.pixels);
      if (m.wordSpacing > 1) {
        move.rows = (m.pixels + m.wordSpacing - 1) / m.wordSpacing;
        move.srcPitch = m.wordSpacing * t.wStride;
        move.pairsCut = (move.rows - 1) * m.wordSpacing + m.singles >= m.pixels ? 1 : 0;
      }
      break;
  }
  return t.plain() ? Kernel(turned(move)) : Kernel(move);
}

Kernel storeMove(const TensorView& t, const ChannelPiece& piece, const PanelMove& m) {
  const Copy move{.lanes = m.lanes,
                  .rows = m.pixels,
                  .cols = piece.channels,
                  .srcPitch = m.panelPitch,
                  .dstPitch = t.plain() ? t.cStride : t.wStride,
                  .padCols = piece.missing,
                  .to = storedElement(t.dtype),
                  .label = "store_panel"};
  return t.plain() ? Kernel(turned(move)) : Kernel(move);
}

StoredChannels storedChannels(const TensorView& t) {
  return t.plain() ? StoredChannels::kLines : StoredChannels::kColumns;
}

}  // namespace cubejit
