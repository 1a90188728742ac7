// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves that pack weights and the order in which they read them.
#include "algorithms/kit/lower/pack_weights.h"

#include <algorithm>
#include <utility>

namespace cubejit {
namespace {

// With a single tap and channels side by side, lanes are contiguous in w already: rows are copied, not transposed.
bool rowsAtOnce(const DataGradient& g) { return g.taps == 1 && g.wResult == elementBytes(g.weightElement); }

// What a move does to the elements: HF32 weights are rounded, pairs take the next reduction channel along.
void setElements(Move& move, const DataGradient& g, const PackedWeights& p) {
  const bool rounds = g.weightElement == Element::kHf32 || g.weightElement == Element::kHf32Low;
  move.from = rounds ? Element::kF32 : g.weightElement;
  move.to = rounds ? g.weightElement : Element::kF32;
  if (!p.pairs) return;
  move.from = Element::kPair;
  move.to = Element::kF32;
  move.pairPitch = g.wReduced;
}

// Reduced channels (or pairs) a step moves at once.
std::int64_t divisorOf(const PackedWeights& p) { return divisorAtMost(p.whole(), 32); }

struct Ends {
  int source = -1, sink = -1;
};

// `atOnce` reduction channels a step: the first whole() of them are class 0; one that is alone is the last step, of class 1.
int reducedAxis(ProgramBuilder& b, const char* name, const DataGradient& g, const PackedWeights& p, Ends ends,
                std::int64_t atOnce) {
  if (!p.lastAlone) {
    return b.addUniformAxis(name, p.reduced / atOnce,
                            {{ends.source, atOnce * p.step(g)}, {ends.sink, atOnce * p.reducedPitch(g)}});
  }
  const int axis = b.addAxis(name, 2);
  for (std::int64_t k = 0; k < p.reduced; k += k < p.whole() ? atOnce : 1) {
    b.addStep(axis, {{ends.source, k * p.step(g)}, {ends.sink, k * p.reducedPitch(g)}}, k < p.whole() ? 0 : 1);
  }
  return axis;
}

// One matrix of w: all taps of one reduction channel, or (rowsAtOnce) several of them. `reduced`: the axis whose class 1
// is the channel that is alone, if there is one.
Call packCall(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, Ends ends, int blocks, int reduced,
              int prefetchAhead) {
  Call call{"pack", ends.source, -1, ends.sink, {blocks}, {}};
  if (p.lastAlone) call.classAxes.push_back(reduced);
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t width = cls == 0 ? p.width : p.channels % p.width;
    for (const bool alone : {false, true}) {
      if (alone && !p.lastAlone) continue;
      call.variants.emplace_back();
      if (width == 0 || (cls == 0 && p.channels < p.width) || (!alone && p.whole() == 0)) continue;
      Move move{MoveKind::kTranspose, p.lanes,         width, g.taps,  g.wResult,
                p.tapPitch(),         p.width - width, false, "pack_w"};
      if (rowsAtOnce(g)) {
        move = Move{MoveKind::kCopy, p.lanes, alone ? 1 : divisorOf(p), width, p.step(g), p.width * 4, p.width - width,
                    false,           "pack_w"};
      }
      setElements(move, g, p);
      if (alone) move.pairPitch = 0;
      move.prefetchAhead = prefetchAhead;
      call.variants.back().kernel = b.addKernel(move);
    }
  }
  return call;
}

}  // namespace

std::int64_t PackedWeights::widthOf(std::int64_t block) const { return std::min(width, channels - block * width); }

void addPackPhase(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int weights, int packed) {
  b.beginPhase("pack_weights");
  const int src = b.addStream("w", weights), dst = b.addStream("packed", packed);
  const int groups = b.addUniformAxis("g", g.view.groups, {{src, g.wGroup}, {dst, p.blocks * p.blockBytes(g)}});
  const int blocks = b.addAxis("n", 2);
  for (std::int64_t i = 0; i < p.blocks; ++i) {
    b.addStep(blocks, {{src, i * p.width * g.wResult}, {dst, i * p.blockBytes(g)}}, p.widthOf(i) < p.width ? 1 : 0);
  }
  const bool oneByOne = p.lastAlone && !rowsAtOnce(g);  // its matrix is one of its own
  const std::int64_t atOnce = oneByOne ? 1 : divisorOf(p);
  const Ends ends{src, dst};
  const int outer = reducedAxis(b, "k0", g, p, ends, atOnce);
  const int inner = rowsAtOnce(g) ? -1 : b.addUniformAxis("k", atOnce, {{src, p.step(g)}, {dst, p.reducedPitch(g)}});
  std::vector<Node> body;
  body.push_back(callNode(packCall(b, g, p, ends, blocks, outer, 0)));
  if (inner < 0) {
    b.phase().parallelAxes = {groups, blocks, outer};
    b.phase().body = std::move(body);
  } else if (g.wReduced > g.wResult) {  // read the weights from front to back: all blocks of one k, then the next
    b.phase().parallelAxes = {groups, outer};
    b.phase().body = nest({inner, blocks}, std::move(body));
  } else {
    b.phase().parallelAxes = {groups, blocks, outer};
    b.phase().body = nest({inner}, std::move(body));
  }
  b.phase().workCycles = static_cast<double>(g.weightBytes) / 64.0 * 6.0;
}

std::vector<Node> packBlock(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int source, int panel,
                            int blocks) {
  const Ends ends{source, panel};
  const int k = reducedAxis(b, "pack_k", g, p, ends, rowsAtOnce(g) ? divisorOf(p) : 1);
  std::vector<Node> body;
  body.push_back(callNode(packCall(b, g, p, ends, blocks, k, rowsAtOnce(g) ? 1 : 2)));
  return nest({k}, std::move(body));
}

Node packChannel(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int source, int sink, int blocks) {
  return callNode(packCall(b, g, p, Ends{source, sink}, blocks, -1, 0));
}

void addPackInputPhase(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int weights, int packed) {
  b.beginPhase("pack_weights");
  const int src = b.addStream("w", weights), dst = b.addStream("packed", packed);
  const int groups = b.addUniformAxis("g", g.view.groups, {{src, g.wGroup}, {dst, packedInputBytes(g, p)}});
  const std::int64_t lanes = p.lanes, tapBytes = g.taps * lanes * 4, reduced = p.reduced;
  const int vectors = b.addAxis("k", 2);
  for (std::int64_t k = 0; k < reduced; k += lanes) {
    b.addStep(vectors, {{src, k * p.step(g)}, {dst, k / lanes * g.result.channels * tapBytes}},
              k + lanes <= reduced ? 0 : 1);
  }
  Call call{"pack", src, -1, dst, {vectors}, {Variant{}, Variant{}}};
  for (int tail = 0; tail < 2; ++tail) {
    const std::int64_t rows = tail == 1 ? reduced % lanes : std::min<std::int64_t>(lanes, reduced / lanes * lanes);
    if (rows == 0) continue;
    Move move{MoveKind::kTranspose, p.lanes, rows, g.taps, p.step(g), lanes * 4, lanes - rows, false, "pack_w"};
    setElements(move, g, p);
    call.variants[static_cast<std::size_t>(tail)].kernel = b.addKernel(move);
  }
  const int channels = b.addUniformAxis("n", g.result.channels, {{src, g.wResult}, {dst, tapBytes}});
  b.phase().parallelAxes = {groups, vectors};
  b.phase().body = nest({channels}, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(g.weightBytes) / 64.0 * 6.0;
}

}  // namespace cubejit
