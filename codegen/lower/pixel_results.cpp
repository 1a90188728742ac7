// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves that interleave residue classes (see the header).
#include "codegen/lower/pixel_results.h"

#include <algorithm>

namespace cubejit {
namespace {

void addCall(ProgramBuilder& b, const PixelResults& r, int axis, int panel, int tensor, std::vector<int> classAxes,
             const std::vector<bool>& exists, const std::array<Move, 2>& moves,
             const std::array<std::int64_t, 2>& channels, std::vector<Node>& body) {
  Call call{"store_row", panel, -1, tensor, std::move(classAxes), {}};
  std::array<int, 2> kernels{-1, -1};
  for (std::size_t i = 0; i < 2; ++i) {
    if (channels[i] > 0) kernels[i] = b.addKernel(moves[i]);
  }
  for (const bool here : exists) {
    for (const int kernel : kernels) call.variants.push_back(Variant{here ? kernel : -1, -1, false});
  }
  Node rows = loopNode(r.rowAxis, {callNode(std::move(call))});
  body.push_back(axis < 0 ? std::move(rows) : loopNode(axis, {std::move(rows)}));
}

}  // namespace

void addPixelResults(ProgramBuilder& b, const PixelResults& r, int panel, int tensor, const std::vector<int>& classAxes,
                     const std::vector<bool>& exists, const std::array<std::int64_t, 2>& channels,
                     std::vector<Node>& body) {
  const auto& phases = *r.phases;
  const std::int64_t columnBytes = r.result->wStride;
  const Element written = elementOf(r.result->dtype);
  const bool even =
      std::all_of(phases.begin(), phases.end(), [&](const AxisPhase& p) { return p.count == phases[0].count; }) &&
      static_cast<std::int64_t>(phases.size()) == r.resultStep;
  if (!r.result->channelsLast && even) {
    // All residue classes at once: a [phase][j] matrix per channel becomes [j][phase], which is the tensor's row.
    const int axis = b.addAxis("channel", static_cast<int>(r.blockRows));
    for (std::int64_t c = 0; c < r.blockRows; ++c)
      b.addStep(axis, {{panel, c * r.rowPitch}, {tensor, c * r.result->cStride}}, static_cast<int>(c));
    Move move{MoveKind::kTranspose,       r.lanes, r.resultStep, phases[0].count, r.blockRows * r.rowPitch,
              r.resultStep * columnBytes, 0,       false,        "interleave"};
    move.to = written;
    Call call{"store_row", panel, -1, tensor, classAxes, {}};
    call.classAxes.push_back(axis);
    const int kernel = b.addKernel(move);
    for (const bool here : exists) {
      for (const std::int64_t count : channels) {
        for (std::int64_t c = 0; c < r.blockRows; ++c)
          call.variants.push_back(Variant{here && c < count ? kernel : -1, -1, false});
      }
    }
    body.push_back(loopNode(axis, {loopNode(r.rowAxis, {callNode(std::move(call))})}));
    return;
  }
  const bool wholePixels =
      r.blockRows * elementBytes(written) == columnBytes &&
      std::all_of(channels.begin(), channels.end(), [&](std::int64_t n) { return n == 0 || n == r.blockRows; });
  if (r.result->channelsLast && even && wholePixels) {
    // Everything at once: [phase][channel][j] becomes [j][phase][channel], which is the tensor's row without gaps.
    Move move{MoveKind::kTranspose,
              r.lanes,
              r.resultStep * r.blockRows,
              phases[0].count,
              r.rowPitch,
              r.resultStep * columnBytes,
              0,
              false,
              "interleave"};
    move.to = written;
    addCall(b, r, -1, panel, tensor, classAxes, exists, {move, move}, channels, body);
    return;
  }
  for (std::size_t p = 0; p < phases.size(); ++p) {
    // One residue class: [channel][j] becomes rows of channels (channels-last), or single columns of each channel (plain).
    const int axis = b.addAxis("phase");
    b.addStep(axis, {{panel, static_cast<std::int64_t>(p) * r.blockRows * r.rowPitch},
                     {tensor, phases[p].start * columnBytes}});
    if (r.result->channelsLast) {
      std::array<Move, 2> moves;
      for (std::size_t i = 0; i < 2; ++i) {
        moves[i] = Move{MoveKind::kTranspose,       r.lanes, channels[i], phases[p].count, r.rowPitch,
                        r.resultStep * columnBytes, 0,       false,       "interleave"};
        moves[i].to = written;
      }
      addCall(b, r, axis, panel, tensor, classAxes, exists, moves, channels, body);
      continue;
    }
    const int each = b.addAxis("channel", static_cast<int>(r.blockRows));
    for (std::int64_t c = 0; c < r.blockRows; ++c)
      b.addStep(each, {{panel, c * r.rowPitch}, {tensor, c * r.result->cStride}}, static_cast<int>(c));
    Move move{MoveKind::kTranspose,       r.lanes, 1,     phases[p].count, r.rowPitch,
              r.resultStep * columnBytes, 0,       false, "interleave"};
    move.to = written;
    Call call{"store_row", panel, -1, tensor, classAxes, {}};
    call.classAxes.push_back(each);
    const int kernel = b.addKernel(move);
    for (const bool here : exists) {
      for (const std::int64_t count : channels) {
        for (std::int64_t c = 0; c < r.blockRows; ++c)
          call.variants.push_back(Variant{here && c < count ? kernel : -1, -1, false});
      }
    }
    body.push_back(loopNode(axis, {loopNode(each, {loopNode(r.rowAxis, {callNode(std::move(call))})})}));
  }
}

}  // namespace cubejit
