// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves between tensors and the private panels of a data gradient with boxes of pixels.
#include "algorithms/direct_data/lower/data_panels.h"

#include <algorithm>

namespace cubejit {
namespace {

class Moves {
 public:
  Moves(ProgramBuilder& b, const DataPanels& p, bool in)
      : b_(b),
        p_(p),
        in_(in),
        o_(in ? p.operand : p.result),
        t_(*o_.view),
        together_(t_.denseRows() && o_.pitch.h == o_.pitch.w * t_.extent.w),
        planes_(in ? p.axes[0].panelOperands : p.axes[0].panelResults),
        rows_(together_ ? 1
              : in      ? p.axes[1].panelOperands
                        : p.axes[1].panelResults) {
    plane_ = b.addAxis(in ? "plane_in" : "plane_out", static_cast<int>(planes_));
    for (std::int64_t i = 0; i < planes_; ++i)
      b.addStep(plane_, {{o_.tensor, i * t_.dStride}, {o_.panel, i * o_.pitch.d}}, static_cast<int>(i));
    if (together_) return;
    row_ = b.addAxis(in ? "row_in" : "row_out", static_cast<int>(rows_));
    for (std::int64_t i = 0; i < rows_; ++i)
      b.addStep(row_, {{o_.tensor, i * t_.hStride}, {o_.panel, i * o_.pitch.h}}, static_cast<int>(i));
  }

  Node pieces(int blocks, Epilogue* epilogue) {
    const PanelElements elements = in_ ? p_.operandElements : PanelElements::kWide;
    // Pieces of a whole block of channels, and of the last, narrower one; the axis has the longer list's steps.
    const auto channelsOf = [&](int tail) {
      return blocks < 0 ? t_.channels : tail == 1 ? t_.channels % p_.width : std::min(p_.width, t_.channels);
    };
    const std::array<std::vector<ChannelPiece>, 2> pieces{channelPieces(t_, channelsOf(0), elements),
                                                          channelPieces(t_, channelsOf(1), elements)};
    const std::vector<ChannelPiece>& longest = pieces[pieces[0].size() >= pieces[1].size() ? 0 : 1];
    const int piece = b_.addAxis(in_ ? "piece_in" : "piece_out", static_cast<int>(longest.size()));
    std::int64_t channel = 0;
    for (std::size_t i = 0; i < longest.size(); ++i) {
      AxisDeltas step{{o_.tensor, longest[i].tensorOffset}, {o_.panel, longest[i].panelOffset}};
      if (epilogue != nullptr) step.push_back(epilogue->toChannel(channel));
      b_.addStep(piece, step, static_cast<int>(i));
      channel += longest[i].channels;
    }
    Call call = callOf(in_ ? "load_panel" : "store_panel");
    if (blocks >= 0) call.classAxes.push_back(blocks);
    call.classAxes.push_back(piece);
    forEachPlane([&](std::int64_t pixels) {
      for (std::size_t tail = 0; tail < (blocks >= 0 ? 2 : 1); ++tail) {
        for (std::size_t k = 0; k < longest.size(); ++k) {
          Variant v;
          if (pixels > 0 && k < pieces[tail].size() && pieces[tail][k].channels > 0) {
            const PanelMove m{p_.lanes, pixels, o_.pitch.w, elements, 1};
            v.kernel = b_.addKernel(in_ ? loadMove(t_, pieces[tail][k], m) : storeMove(t_, pieces[tail][k], m));
          }
          call.variants.push_back(v);
        }
      }
    });
    return loopNode(plane_, {loopNode(piece, eachRow(std::move(call), epilogue, storedChannels(t_)))});
  }

  Node sums(Epilogue& epilogue) {
    // Channels-last: pixels and channels are one row in both. Plain: a row for each channel.
    const bool together = t_.channelsLast;
    const int channel = b_.addUniformAxis("channel", together ? 1 : t_.channels,
                                          {{o_.tensor, t_.cStride}, {o_.panel, p_.lanes * 4}, epilogue.toChannel(1)});
    Call call = callOf("sum_lanes");
    forEachPlane([&](std::int64_t pixels) {
      Variant v;
      if (pixels > 0) {
        v.kernel = b_.addKernel(LaneReduce{.lanes = p_.lanes,
                                           .rows = together ? pixels * t_.channels : pixels,
                                           .srcPitch = together ? p_.lanes * 4 : o_.pitch.w,
                                           .label = "sum_lanes"});
      }
      call.variants.push_back(v);
    });
    return loopNode(plane_, {loopNode(channel, eachRow(std::move(call), &epilogue,
                                                       together ? StoredChannels::kColumns : StoredChannels::kNone))});
  }

 private:
  Call callOf(const char* name) const {
    Call call{
        name, in_ ? o_.tensor : o_.panel, -1, in_ ? o_.panel : o_.tensor, {p_.cacheAxis[0], p_.cacheAxis[1], plane_},
        {}};
    if (!together_) call.classAxes.push_back(row_);
    return call;
  }

  // Without an epilogue it loads.
  std::vector<Node> eachRow(Call call, Epilogue* epilogue, StoredChannels channels) const {
    std::vector<Node> body;
    if (epilogue == nullptr)
      body.push_back(callNode(std::move(call)));
    else
      body = epilogue->storing(std::move(call), channels);
    return together_ ? std::move(body) : nest({row_}, std::move(body));
  }

  // Calls visit(pixels of the plane, or of one of its rows; 0 if there is none) for every class of cache blocks.
  template <class Visit>
  void forEachPlane(Visit visit) const {
    limitWork(static_cast<double>(p_.axes[0].cacheClasses) * p_.axes[1].cacheClasses * static_cast<double>(planes_) *
                  static_cast<double>(rows_),
              FewerSteps::most(), "variants of a call");
    for (int d = 0; d < p_.axes[0].cacheClasses; ++d) {
      for (int h = 0; h < p_.axes[1].cacheClasses; ++h) {
        const std::int64_t planes = in_ ? p_.axes[0].operandsOf(d) : p_.axes[0].resultsOf(d),
                           rows = in_ ? p_.axes[1].operandsOf(h) : p_.axes[1].resultsOf(h);
        for (std::int64_t i = 0; i < planes_; ++i) {
          for (std::int64_t j = 0; j < rows_; ++j)
            visit(i < planes && j < rows ? (together_ ? rows : 1) * t_.extent.w : 0);
        }
      }
    }
  }

  ProgramBuilder& b_;
  const DataPanels& p_;
  const bool in_;
  const Operand& o_;
  const TensorView& t_;
  const bool together_;  ///< a plane's rows are one matrix; others are moved one by one
  const std::int64_t planes_, rows_;
  int plane_ = -1, row_ = -1;
};

}  // namespace

Node packNode(ProgramBuilder& b, const DataPanels& p) { return Moves(b, p, true).pieces(-1, nullptr); }
Node unpackNode(ProgramBuilder& b, const DataPanels& p, Epilogue& epilogue, int blocks) {
  return Moves(b, p, false).pieces(blocks, &epilogue);
}
Node sumNode(ProgramBuilder& b, const DataPanels& p, Epilogue& epilogue) { return Moves(b, p, false).sums(epilogue); }

}  // namespace cubejit
