// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves: a channel of a plain tensor is turned into a row of its own, blocks are copied side by side again and again.
#include "algorithms/kit/lower/bias_panel.h"

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
    Move move;
    move.lanes = panel.lanes;
    move.rows = blocks.rows;
    move.cols = std::min(blocks.channels, rooms[i]);
    move.padCols = rooms[i] - move.cols;
    move.srcPitch = to.each * elementBytes(panel.type);
    move.dstPitch = to.pitch * 4;
    move.from = panel.type;
    move.label = "biases";
    call.variants[i].kernel = b.addKernel(move);
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
    Move move;
    move.kind = MoveKind::kTranspose;
    move.lanes = panel.lanes;
    move.rows = to.pitch;  // of the same biases
    move.cols = to.blocks;
    move.dstPitch = to.pitch * 4;
    move.from = panel.type;
    move.label = "biases";
    b.phase().body.push_back(callNode(Call{"biases", from, -1, into, {}, {Variant{b.addKernel(move), -1, false}}}));
  } else {
    const std::int64_t full = panel.channels / to.each, left = panel.channels % to.each;
    const std::int64_t bytes = full * to.each * elementBytes(panel.type);
    if (full > 0) b.phase().body.push_back(copies(b, to, panel, {full, to.each, 0, 0}, from, into));
    if (left > 0) b.phase().body.push_back(copies(b, to, panel, {1, left, bytes, full}, from, into));
  }
  b.movePhasesToFront(first);
}

}  // namespace cubejit
