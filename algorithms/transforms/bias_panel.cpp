// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves: a channel of a plain tensor is turned into a row of its own, blocks are copied side by side again and again.
#include "algorithms/transforms/bias_panel.h"

#include <algorithm>
#include <utility>

namespace cubejit {
namespace {

// Copies of `rows` blocks of `channels`, whose biases begin at so many bytes, to those from block `first` on.
struct Blocks {
  std::int64_t rows = 0, channels = 0, from = 0, first = 0;
};

Node copies(ProgramBuilder& b, const ResultChannels& to, const BiasPanel& panel, const Blocks& blocks, int from,
            int into) {
  const std::int64_t whole = to.pitch / to.each, rest = to.pitch % to.each;
  const int axis = b.addAxis("copy", 2);
  for (std::int64_t k = 0; k * to.each < to.pitch; ++k)
    b.addStep(axis, {{from, blocks.from}, {into, to.biasAt({blocks.first, k * to.each})}}, k < whole ? 0 : 1);
  Call call{"biases", from, -1, into, {axis}, {Variant{}, Variant{}}};
  const std::int64_t rooms[] = {whole > 0 ? to.each : 0, rest};
  for (std::size_t i = 0; i < 2; ++i) {
    if (rooms[i] == 0) continue;
    const std::int64_t cols = std::min(blocks.channels, rooms[i]);
    call.variants[i].kernel = b.addKernel(Copy{.lanes = panel.lanes,
                                               .rows = blocks.rows,
                                               .cols = cols,
                                               .srcPitch = to.each * elementBytes(panel.type),
                                               .dstPitch = to.pitch * 4,
                                               .padCols = rooms[i] - cols,
                                               .from = panel.type,
                                               .label = "biases"});
  }
  return loopNode(axis, {callNode(std::move(call))});
}

}  // namespace

void addBiasPhase(ProgramBuilder& b, const ResultChannels& to, const BiasPanel& panel) {
  b.bufferAt(panel.into).bytes = to.blocks * to.pitch * 4;
  const std::size_t first = b.phases();
  b.beginPhase("biases");
  const int from = b.addStream("b", panel.from), into = b.addStream("biases", panel.into);
  if (to.each == 1) {
    const int kernel = b.addKernel(Transpose{.lanes = panel.lanes,
                                             .rows = to.pitch,  // of the same biases
                                             .cols = to.blocks,
                                             .dstPitch = to.pitch * 4,
                                             .from = panel.type,
                                             .label = "biases"});
    b.phase().body.push_back(callNode(Call{"biases", from, -1, into, {}, {Variant{kernel, -1, false}}}));
  } else {
    const std::int64_t full = panel.channels / to.each, left = panel.channels % to.each;
    const std::int64_t bytes = full * to.each * elementBytes(panel.type);
    if (full > 0) b.phase().body.push_back(copies(b, to, panel, {full, to.each, 0, 0}, from, into));
    if (left > 0) b.phase().body.push_back(copies(b, to, panel, {1, left, bytes, full}, from, into));
  }
  b.movePhasesToFront(first);
}

}  // namespace cubejit
