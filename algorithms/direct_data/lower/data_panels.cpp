// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves between tensors and the private panels of a data gradient with boxes of pixels.
#include "algorithms/direct_data/lower/data_panels.h"

#include <algorithm>

namespace cubejit {
// Moves dy rows into the panel (in) or panel rows out to dx, plane by plane; a plane's rows are one matrix.
// `blocks`: the axis of channel blocks if a panel of results holds only one of them, else -1.
Node panelMoves(ProgramBuilder& b, const DataPanels& p, bool in, PanelEnds ends, const std::array<int, 2>& slabAxis,
                int blocks) {
  const auto [tensor, panel] = ends;
  const TensorView& t = in ? p.gradient.operand : p.gradient.result;
  const RowPitch& pitch = in ? p.operandPitch : p.resultPitch;
  const std::int64_t planes = in ? p.axes[0].panelOperandRows : p.axes[0].panelResultRows;
  const int plane = b.addAxis(in ? "plane_in" : "plane_out", static_cast<int>(planes));
  for (std::int64_t i = 0; i < planes; ++i)
    b.addStep(plane, {{tensor, i * t.dStride}, {panel, i * pitch.d}}, static_cast<int>(i));
  const PanelElements elements = in ? p.operandElements : PanelElements::kWide;
  // Pieces of a whole block of channels, and of the last, narrower one; the axis has the longer list's steps.
  const auto channelsOf = [&](int tail) {
    return blocks < 0 ? t.channels : tail == 1 ? t.channels % p.width : std::min(p.width, t.channels);
  };
  std::array<std::vector<ChannelPiece>, 2> pieces;
  for (int tail = 0; tail < 2; ++tail)
    pieces[static_cast<std::size_t>(tail)] = channelPieces(t, channelsOf(tail), elements);
  const std::vector<ChannelPiece>& longest = pieces[pieces[0].size() >= pieces[1].size() ? 0 : 1];
  const int piece = b.addAxis(in ? "piece_in" : "piece_out", static_cast<int>(longest.size()));
  for (std::size_t i = 0; i < longest.size(); ++i)
    b.addStep(piece, {{tensor, longest[i].tensorOffset}, {panel, longest[i].panelOffset}}, static_cast<int>(i));
  Call call{in ? "load_panel" : "store_panel",
            in ? tensor : panel,
            -1,
            in ? panel : tensor,
            {slabAxis[0], slabAxis[1], plane},
            {}};
  if (blocks >= 0) call.classAxes.push_back(blocks);
  call.classAxes.push_back(piece);
  for (int sd = 0; sd < std::max(1, p.axes[0].slabClasses); ++sd) {
    for (int sh = 0; sh < std::max(1, p.axes[1].slabClasses); ++sh) {
      for (std::int64_t i = 0; i < planes; ++i) {
        std::int64_t pixels = 0;
        if (sd < p.axes[0].slabClasses && sh < p.axes[1].slabClasses) {
          const auto d = static_cast<std::size_t>(sd), h = static_cast<std::size_t>(sh);
          const std::int64_t planesHere = in ? p.axes[0].operandCountOf[d] : p.axes[0].resultCountOf[d];
          if (i < planesHere) pixels = (in ? p.axes[1].operandCountOf[h] : p.axes[1].resultCountOf[h]) * t.extent.w;
        }
        for (int tail = 0; tail < (blocks >= 0 ? 2 : 1); ++tail) {
          const std::vector<ChannelPiece>& own = pieces[static_cast<std::size_t>(tail)];
          for (std::size_t k = 0; k < longest.size(); ++k) {
            Variant v;
            if (pixels > 0 && k < own.size() && own[k].channels > 0) {
              const PanelMove m{p.lanes, pixels, pitch.w, elements, 1};
              v.kernel = b.addKernel(in ? loadMove(t, own[k], m) : storeMove(t, own[k], m));
            }
            call.variants.push_back(v);
          }
        }
      }
    }
  }
  return loopNode(plane, {loopNode(piece, {callNode(std::move(call))})});
}

// Sums the lanes of the panel's partial results into dx, plane by plane.
Node sumMoves(ProgramBuilder& b, const DataPanels& p, PanelEnds ends, const std::array<int, 2>& slabAxis) {
  const auto [tensor, panel] = ends;
  const TensorView& t = p.gradient.result;
  const std::int64_t planes = p.axes[0].panelResultRows;
  const int plane = b.addAxis("plane_out", static_cast<int>(planes));
  for (std::int64_t i = 0; i < planes; ++i)
    b.addStep(plane, {{tensor, i * t.dStride}, {panel, i * p.resultPitch.d}}, static_cast<int>(i));
  // Channels-last: pixels and channels are one row in both. Plain: a row for each channel.
  const bool together = t.channelsLast;
  const std::int64_t apart = together ? 1 : t.channels;
  const int channel = b.addUniformAxis("channel", apart, {{tensor, t.cStride}, {panel, p.lanes * 4}});
  Call call{"sum_lanes", panel, -1, tensor, {slabAxis[0], slabAxis[1], plane}, {}};
  for (int sd = 0; sd < std::max(1, p.axes[0].slabClasses); ++sd) {
    for (int sh = 0; sh < std::max(1, p.axes[1].slabClasses); ++sh) {
      for (std::int64_t i = 0; i < planes; ++i) {
        Variant v;
        if (sd < p.axes[0].slabClasses && sh < p.axes[1].slabClasses) {
          const std::int64_t planesHere = p.axes[0].resultCountOf[static_cast<std::size_t>(sd)];
          const std::int64_t pixels = p.axes[1].resultCountOf[static_cast<std::size_t>(sh)] * t.extent.w;
          if (i < planesHere && pixels > 0) {
            v.kernel = b.addKernel(Move{MoveKind::kLaneSums, p.lanes, together ? pixels * t.channels : pixels, p.lanes,
                                        together ? p.lanes * 4 : p.resultPitch.w, 4, 0, false, "sum_lanes"});
          }
        }
        call.variants.push_back(v);
      }
    }
  }
  return loopNode(plane, {loopNode(channel, {callNode(std::move(call))})});
}

}  // namespace cubejit
