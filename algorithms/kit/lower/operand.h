// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a task reaches a tensor: where it lies, or in a panel of it that the task packs (of results: unpacks). What a lowering says
// of an operand's positions holds for both.
#pragma once

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
    panelBuffer = b.addBuffer(std::move(name), BufferRole::kPrivate, bytes);
  }
  /// The microkernel's stream.
  void addStream(ProgramBuilder& b, std::string name) {
    stream = tensor = b.addStream(std::move(name), packed() ? panelBuffer : buffer);
  }
  /// What moves between tensor and panel need, if there is one; without `panelName` they see the panel where the microkernel does.
  void addMoveStreams(ProgramBuilder& b, std::string tensorName, std::string panelName = {}) {
    if (!packed()) return;
    tensor = b.addStream(std::move(tensorName), buffer);
    panel = panelName.empty() ? stream : b.addStream(std::move(panelName), panelBuffer);
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

}  // namespace cubejit
