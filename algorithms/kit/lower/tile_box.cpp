// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides steps and classes of the axes over tiles.
#include "algorithms/kit/lower/tile_box.h"

namespace cubejit {

TileBox makeTileBox(const std::array<std::int64_t, 3>& tile, const ConvView& view, const TensorView& tiled,
                    const TensorView& patched, const Dhw& pad) {
  TileBox box;
  box.batch = view.batch;
  const std::array<std::int64_t, 3>& m = tile;
  for (int a = 0; a < 3; ++a) {
    const auto axis = static_cast<std::size_t>(a);
    box.taps[axis] = view.kernel[a];
    box.axes[axis] = makeTileAxis(m[a], view.kernel[a], pad[a], tiled.extent[a], patched.extent[a]);
  }
  return box;
}

TileStream tensorStream(int stream, const TensorView& tensor, const TileBox& box, bool patches) {
  TileStream out;
  out.stream = stream;
  out.image = tensor.nStride;
  for (int a = 0; a < 3; ++a) {
    const TileAxis& axis = box.axes[static_cast<std::size_t>(a)];
    out.tile[static_cast<std::size_t>(a)] = axis.m * tensor.strideOf(a);
    if (patches) out.origin -= axis.pad * tensor.strideOf(a);
  }
  return out;
}

int addRowAxis(ProgramBuilder& b, const TileBox& box, const std::vector<TileStream>& tensors,
               const std::vector<std::pair<int, std::int64_t>>& panels) {
  const int axis = b.addAxis("tile_row", box.rowClasses());
  std::int64_t row = 0;
  for (std::int64_t n = 0; n < box.batch; ++n) {
    for (std::int64_t d = 0; d < box.axes[0].tiles(); ++d) {
      for (std::int64_t h = 0; h < box.axes[1].tiles(); ++h, ++row) {
        std::vector<std::pair<int, std::int64_t>> deltas;
        for (const TileStream& t : tensors)
          deltas.emplace_back(t.stream, t.origin + n * t.image + d * t.tile[0] + h * t.tile[1]);
        for (const auto& [stream, bytes] : panels) deltas.emplace_back(stream, row * box.tilesOfRow() * bytes);
        const int ofD = box.axes[0].classOf[static_cast<std::size_t>(d)],
                  ofH = box.axes[1].classOf[static_cast<std::size_t>(h)];
        b.addStep(axis, deltas, ofD * static_cast<int>(box.axes[1].classes.size()) + ofH);
      }
    }
  }
  return axis;
}

int addTileAxis(ProgramBuilder& b, const TileBox& box, const std::vector<TileStream>& tensors,
                const std::vector<std::pair<int, std::int64_t>>& panels) {
  const int axis = b.addAxis("tile", static_cast<int>(box.axes[2].classes.size()));
  for (std::int64_t w = 0; w < box.tilesOfRow(); ++w) {
    std::vector<std::pair<int, std::int64_t>> deltas;
    for (const TileStream& t : tensors) deltas.emplace_back(t.stream, w * t.tile[2]);
    for (const auto& [stream, bytes] : panels) deltas.emplace_back(stream, w * bytes);
    b.addStep(axis, deltas, box.axes[2].classOf[static_cast<std::size_t>(w)]);
  }
  return axis;
}

std::vector<PassAxis> boxPasses(const TileBox& box, const BoxTransform& transform, int rowAxis, int tileAxis) {
  std::vector<PassAxis> passes;
  const auto add = [&](std::size_t a) {
    if (!box.transformed(a)) return;
    const TileAxis& tiles = box.axes[a];
    PassAxis pass;
    pass.matrix = transform.matrix(a);
    pass.inStride = transform.inStride[a];
    pass.outStride = transform.outStride[a];
    pass.classAxis = tileAxis < 0 ? -1 : a == 2 ? tileAxis : rowAxis;
    const std::size_t hClasses = box.axes[1].classes.size(), classes = tileAxis < 0 ? 1
                                                                       : a == 2     ? tiles.classes.size()
                                                                                : box.axes[0].classes.size() * hClasses;
    for (std::size_t c = 0; c < classes; ++c) {
      const TileClass& cls = tiles.classes[tileAxis < 0 ? 0 : a == 2 ? c : a == 1 ? c % hClasses : c / hClasses];
      pass.inputs.push_back(transform.inputs != nullptr ? cls.*transform.inputs : Range{0, pass.matrix.cols});
      pass.outputs.push_back(transform.outputs != nullptr ? cls.*transform.outputs : Range{0, pass.matrix.rows});
    }
    passes.push_back(std::move(pass));
  };
  for (std::size_t i = 0; i < 3; ++i) add(transform.fromW ? 2 - i : i);
  return passes;
}

std::array<std::int64_t, 3> pointStrides(const TileBox& box, std::int64_t pitch) {
  return {box.pointStep(0) * pitch, box.pointStep(1) * pitch, pitch};
}

std::array<std::int64_t, 3> tapStrides(const TileBox& box, std::int64_t pitch) {
  return {box.taps[1] * box.taps[2] * pitch, box.taps[2] * pitch, pitch};
}

}  // namespace cubejit
