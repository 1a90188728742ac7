// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where transforms read or write a tensor: where it lies, if its channels are side by side and f32, else in a private panel of what one
// row of tiles has of it, [d][h][position along W][channel] of f32. Leaves which tensors are reordered beforehand to the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/lower/tile_box.h"

namespace cubejit {

class TileRows {
 public:
  /// `tensor` is that side of `box`, or of others like it. `width`: channels of a panel.
  TileRows(ProgramBuilder& b, std::string name, const TensorView& tensor, int buffer, const TileBox& box, TileSide side,
           std::int64_t width, int lanes);

  /// Streams of the phase that has begun: the tensor's and, if there is a panel, the panel's.
  void enterPhase();
  int tensor() const { return tensor_; }
  /// What transforms use.
  int stream() const { return packed() ? panel_ : tensor_; }
  /// What the axes of rows and tiles of `box` move.
  std::vector<TileStream> walk(const TileBox& box) const;
  /// Bytes between elements of an axis, as transforms see them.
  std::int64_t stride(const TileBox& box, std::size_t axis) const;

  /// Fills the panel for the current row of tiles, whose axis is `rows`; nothing if there is none.
  std::vector<Node> load(const TileBox& box, int rows);
  /// Moves the panel to the current block of channels, whose axis is `blocks` (class 1: the last, narrower one).
  std::vector<Node> store(const TileBox& box, int rows, int blocks, Epilogue& epilogue);

  bool packed() const { return buffer_ >= 0; }
  TileSide side() const { return side_; }

 private:
  std::vector<int> rowLoops(const TileBox& box, int rows);
  bool patches() const { return side_ == &TileAxis::patched; }

  ProgramBuilder& b_;
  std::string name_;
  const TensorView& view_;
  const TileSide side_;
  const std::int64_t width_;
  const int lanes_, tensorBuffer_;
  std::int64_t columnPitch_ = 0, rowPitch_ = 0, planePitch_ = 0;
  int buffer_ = -1;  ///< of the panel
  int tensor_ = -1, panel_ = -1;
};

}  // namespace cubejit
