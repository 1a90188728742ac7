// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a task reaches a tensor: where it lies, or in a panel of it that the task packs (of results: unpacks). What a lowering says
// of an operand's positions holds for both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/range.h"

namespace cubejit {

/// Bytes between neighbours along images, D, H, W and channels; of a tensor, or of a panel.
struct Pitches {
  std::int64_t n = 0, d = 0, h = 0, w = 0;
  ChannelPitch c;
  std::int64_t of(std::size_t axis) const { return axis == 0 ? d : axis == 1 ? h : w; }
};

inline Pitches pitchesOf(const TensorView& t) { return {t.nStride, t.dStride, t.hStride, t.wStride, t.channelPitch()}; }

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

/// Streams of the current phase, and where they go when an axis makes a step. Moves of `tensor` reach the microkernel where there is no
/// panel: then it is the same stream.
struct Operand {
  const TensorView* view = nullptr;
  int buffer = -1;       ///< the tensor's
  int panelBuffer = -1;  ///< -1: the microkernel reaches the tensor where it lies
  Pitches pitch;         ///< as the microkernel sees it
  int stream = -1;       ///< the microkernel's
  int tensor = -1;       ///< the tensor's
  int panel = -1;        ///< the panel's, as its moves see it

  Operand() = default;
  Operand(const TensorView& t, int tensorBuffer) : view(&t), buffer(tensorBuffer), pitch(pitchesOf(t)) {}

  bool packed() const { return panelBuffer >= 0; }
  /// As the microkernel sees it: panels are of f32.
  Element element() const { return packed() ? Element::kF32 : elementOf(view->dtype); }

  /// From now on the microkernel reaches a private panel.
  void pack(ProgramBuilder& b, std::string name, const Pitches& pitches, std::int64_t bytes) {
    pitch = pitches;
    panelBuffer = b.addBuffer(std::move(name), Buffer::Use::kPrivate, bytes);
  }
  /// The microkernel's stream.
  void addStream(ProgramBuilder& b, std::string name) {
    stream = tensor = b.addStream(std::move(name), packed() ? panelBuffer : buffer);
  }
  /// What moves between tensor and panel need, if there is one; without a name they see the panel where the microkernel does.
  void addTensorStream(ProgramBuilder& b, std::string name) {
    if (packed()) tensor = b.addStream(std::move(name), buffer);
  }
  void addPanelStream(ProgramBuilder& b, std::string name = {}) {
    if (packed()) panel = name.empty() ? stream : b.addStream(std::move(name), panelBuffer);
  }

  /// A step to a part of the tensor that has panels to itself.
  void toBlock(AxisDeltas& step, std::size_t axis, const BlockStart& at) const {
    const std::int64_t stride = view->strideOf(static_cast<int>(axis));
    if (!packed()) {
      step.emplace_back(stream, at.base * stride);
      return;
    }
    step.emplace_back(stream, (at.base - at.origin) * pitch.of(axis));
    step.emplace_back(tensor, at.first * stride);
    if (panel != stream) step.emplace_back(panel, (at.first - at.origin) * pitch.of(axis));
  }
};

/// Steps of the axis of partitions: panels, and what is moved into or out of them, begin with the part's first channel.
inline void startAtPart(ProgramBuilder& b, int axis, const ChannelPart& part, const Operand& o) {
  if (!o.packed()) return;
  for (std::int64_t i = 0; i < part.parts; ++i) {
    b.moveStep(axis, i, o.tensor, o.view->channelOffset(part.loadBegin(i)));
    b.moveStep(axis, i, o.stream, -o.pitch.c.to(part.loadBegin(i)));
  }
}

}  // namespace cubejit
