// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves between a tensor and the panel of a row of tiles.
#include "algorithms/winograd/lower/tile_rows.h"

#include <utility>

#include "algorithms/kit/lower/panel_moves.h"

namespace cubejit {

TileRows::TileRows(ProgramBuilder& b, std::string name, const TensorView& tensor, int buffer, const TileBox& box,
                   TileSide side, std::int64_t width, int lanes)
    : b_(b), name_(std::move(name)), view_(tensor), side_(side), width_(width), lanes_(lanes), tensorBuffer_(buffer) {
  if (view_.direct()) return;
  const auto elements = [&](std::size_t axis) { return patches() ? box.axes[axis].points : box.axes[axis].m; };
  columnPitch_ = roundUp(width, lanes) * 4;
  rowPitch_ = view_.extent.w * columnPitch_;
  planePitch_ = elements(1) * rowPitch_;
  buffer_ = b_.addBuffer(name_ + "_rows", Buffer::Use::kPrivate, elements(0) * planePitch_);
}

void TileRows::enterPhase() {
  tensor_ = b_.addStream(name_, tensorBuffer_);
  if (packed()) panel_ = b_.addStream(name_ + "_rows", buffer_);
}

std::vector<TileStream> TileRows::walk(const TileBox& box) const {
  const TileStream whole = tensorStream(tensor_, view_, box, side_);
  if (!packed()) return {whole};
  // Rows are the tensor's, columns the panel's.
  const Elements& columns = box.axes[2].*side_;
  TileStream rows = whole, column;
  rows.tile[2] = 0;
  rows.origin -= columns.first * view_.wStride;
  column.stream = panel_;
  column.tile[2] = box.axes[2].m * columns.step * columnPitch_;
  column.origin = columns.first * columnPitch_;
  return {rows, column};
}

std::int64_t TileRows::stride(const TileBox& box, std::size_t axis) const {
  if (!packed()) return elementStride(view_, box, side_, axis);
  return axis == 0 ? planePitch_ : axis == 1 ? rowPitch_ : (box.axes[2].*side_).step * columnPitch_;
}

// Loops over what exists of the rows of a row of tiles. Moves begin with the panel's first column, where walk() has left it.
std::vector<int> TileRows::rowLoops(const TileBox& box, int rows) {
  std::vector<int> loops;
  std::int64_t toFirst = -(box.axes[2].*side_).first * columnPitch_;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t count = patches() ? box.axes[axis].points : box.axes[axis].m,
                       panelStep = axis == 0 ? planePitch_ : rowPitch_;
    loops.push_back(b_.addAxis(name_ + (axis == 0 ? "_plane" : "_row")));
    b_.addSteps(loops.back(), count, {{panel_, toFirst}},
                {{tensor_, elementStride(view_, box, side_, axis)}, {panel_, panelStep}}, 0);
    toFirst = 0;
    Axis& added = b_.phase().axes[static_cast<std::size_t>(loops.back())];
    added.windowAxis = rows;
    for (const Range& r : tileRanges(box, axis, patches() ? &TileClass::patch : &TileClass::tile))
      added.windows.push_back(Window{static_cast<int>(r.lo), static_cast<int>(r.hi)});
  }
  return loops;
}

std::vector<Node> TileRows::load(const TileBox& box, int rows) {
  if (!packed()) return {};
  const PanelMove move{.lanes = lanes_, .pixels = view_.extent.w, .panelPitch = columnPitch_};
  Call call{"load_rows", tensor_, -1, panel_, {}, {}};
  call.variants.push_back(
      Variant{b_.addKernel(loadMove(view_, ChannelPiece{0, 0, view_.channels, 0}, move)), -1, false});
  return nest(rowLoops(box, rows), {callNode(std::move(call))});
}

std::vector<Node> TileRows::store(const TileBox& box, int rows, int blocks, Epilogue& epilogue) {
  if (!packed()) return {};
  const PanelMove move{.lanes = lanes_, .pixels = view_.extent.w, .panelPitch = columnPitch_};
  Call call{"store_rows", panel_, -1, tensor_, {blocks}, {}};
  for (const std::int64_t channels : {std::min(width_, view_.channels), view_.channels % width_}) {
    Variant v;
    if (channels > 0) v.kernel = b_.addKernel(storeMove(view_, ChannelPiece{0, 0, channels, 0}, move));
    call.variants.push_back(v);
  }
  return nest(rowLoops(box, rows), epilogue.storing(std::move(call), storedChannels(view_)));
}

}  // namespace cubejit
