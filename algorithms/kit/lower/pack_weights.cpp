// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves that pack weights and the order in which they read them: along what lies side by side in w.
#include "algorithms/kit/lower/pack_weights.h"

#include <algorithm>
#include <utility>

#include "algorithms/kit/weight_order.h"

namespace cubejit {
namespace {

// Lanes are result channels, rows reduction channels (or pairs).
WeightMoves movesOf(const DataGradient& g, const PackedWeights& p) {
  const std::int64_t element = elementBytes(g.weightElement);
  return weightMoves(g.view.kernel, g.wTap, p.tapPitch(), element, g.wResult == element, g.wReduced == element);
}

// Matrices of taps are of one reduction channel; the others take many of them.
bool rowsAtOnce(const WeightMoves& moves) { return moves.matrix != WeightMatrix::kTaps; }

// What a move does to the elements: HF32 weights are rounded, pairs take the next reduction channel along.
void setElements(Copy& move, const DataGradient& g, const PackedWeights& p) {
  const bool rounds = g.weightElement == Element::kHf32 || g.weightElement == Element::kHf32Low;
  move.from = rounds ? Element::kF32 : g.weightElement;
  move.to = rounds ? g.weightElement : Element::kF32;
  if (!p.pairs) return;
  move.from = Element::kPair;
  move.to = Element::kF32;
  move.pairPitch = g.wReduced;
}

// Pairs whose members are neighbours in w are words already.
void setWords(Copy& move, const DataGradient& g, const PackedWeights& p) {
  setElements(move, g, p);
  if (p.pairs) move.from = Element::kF32;
  move.pairPitch = 0;
}

// Reduced channels (or pairs) a step moves at once. Columns of a transpose are best many.
std::int64_t atOnceOf(const WeightMoves& moves, const PackedWeights& p) {
  constexpr std::int64_t kFewColumns = 8;
  const std::int64_t divisor = divisorAtMost(p.whole(), 32);
  const bool all = moves.matrix == WeightMatrix::kRows && divisor < kFewColumns;
  return all ? std::max<std::int64_t>(1, p.whole()) : divisor;
}

// Loops over the taps that are in no matrix.
std::vector<int> tapLoops(ProgramBuilder& b, const WeightMoves& moves, int source, int sink) {
  std::vector<int> axes;
  for (const WeightDim& d : moves.loops)
    axes.push_back(b.addUniformAxis("tap", d.count, {{source, d.ordered}, {sink, d.packed}}));
  return axes;
}

std::vector<int> with(std::vector<int> axes, const std::vector<int>& inner) {
  axes.insert(axes.end(), inner.begin(), inner.end());
  return axes;
}

struct Ends {
  int source = -1, sink = -1;
};

// What a step along the reduction packs: several channels or pairs, one that is alone, or zeros behind all of them.
enum class Packs : std::uint8_t { kWhole, kAlone, kZeros };

// Those that there are; a step's class is its place among them.
std::vector<Packs> stepsOf(const PackedWeights& p) {
  std::vector<Packs> steps{Packs::kWhole};
  if (p.lastAlone) steps.push_back(Packs::kAlone);
  if (p.zeroPairs > 0) steps.push_back(Packs::kZeros);
  return steps;
}

// `atOnce` reduction channels a step.
int reducedAxis(ProgramBuilder& b, const char* name, const DataGradient& g, const PackedWeights& p, Ends ends,
                std::int64_t atOnce) {
  const auto classes = static_cast<int>(stepsOf(p).size());
  if (classes == 1) {
    return b.addUniformAxis(name, p.reduced / atOnce,
                            {{ends.source, atOnce * p.step(g)}, {ends.sink, atOnce * p.reducedPitch(g)}});
  }
  const int axis = b.addAxis(name, classes);
  for (std::int64_t k = 0; k < p.reduced; k += k < p.whole() ? atOnce : 1) {
    b.addStep(axis, {{ends.source, k * p.step(g)}, {ends.sink, k * p.reducedPitch(g)}}, k < p.whole() ? 0 : 1);
  }
  if (p.zeroPairs > 0) b.addStep(axis, {{ends.sink, p.reduced * p.reducedPitch(g)}}, classes - 1);
  return axis;
}

// Zeros behind a matrix of w.
Fill zeroPairs(const PackedWeights& p, const WeightMoves& moves) {
  return {.lanes = p.lanes,
          .rows = rowsAtOnce(moves) ? 1 : moves.taps.count,
          .cols = p.zeroPairs * p.width,
          .dstPitch = rowsAtOnce(moves) ? p.tapPitch() : moves.taps.packed,
          .label = "zero_pairs"};
}

// One matrix of w: taps of one reduction channel, or (rowsAtOnce) a tap of `atOnce` of them. `reduced`: the axis of stepsOf(), if
// there are several.
Call packCall(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, const WeightMoves& moves, Ends ends,
              int blocks, int reduced, std::int64_t atOnce, int prefetchAhead) {
  Call call{"pack", ends.source, -1, ends.sink, {blocks}, {}};
  const std::vector<Packs> steps = stepsOf(p);
  if (steps.size() > 1) call.classAxes.push_back(reduced);
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t width = cls == 0 ? p.width : p.channels % p.width;
    for (const Packs packs : steps) {
      call.variants.emplace_back();
      if (width == 0 || (cls == 0 && p.channels < p.width) || (packs == Packs::kWhole && p.whole() == 0)) continue;
      if (packs == Packs::kZeros) {
        call.variants.back().kernel = b.addKernel(zeroPairs(p, moves));
        continue;
      }
      const bool alone = packs == Packs::kAlone;
      const std::int64_t rows = alone ? 1 : atOnce;
      const bool copies = moves.matrix == WeightMatrix::kLanes;
      Copy move{.lanes = p.lanes,
                .rows = copies ? rows : width,
                .cols = copies ? width : moves.taps.count,
                .srcPitch = copies ? p.step(g) : g.wResult,
                .dstPitch = copies ? p.reducedPitch(g) : moves.taps.packed,
                .padCols = p.width - width,
                .label = "pack_w"};
      if (moves.matrix == WeightMatrix::kRows) {
        move.cols = rows;
        move.dstPitch = p.reducedPitch(g);
      }
      if (moves.matrix == WeightMatrix::kRows && !alone)
        setWords(move, g, p);
      else
        setElements(move, g, p);
      if (alone) move.pairPitch = 0;
      move.prefetchAhead = prefetchAhead;
      call.variants.back().kernel = copies ? b.addKernel(move) : b.addKernel(turned(move));
    }
  }
  return call;
}

// The body of the phase where channels and taps along W are pairs together: how far apart a pair's members lie differs from pair to pair.
void packTaps(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, Ends ends, int groups, int blocks) {
  const std::int64_t channels = g.operand.channels, members = p.tapsAlongW * channels;
  const auto member = [&](std::int64_t k) { return k / channels * g.wTap.w + k % channels * g.wReduced; };
  const int src = ends.source, dst = ends.sink;
  const std::int64_t rowBytes = p.tapPitch();
  const int d = b.addUniformAxis("kd", g.view.kernel.d, {{src, g.wTap.d}, {dst, g.view.kernel.h * rowBytes}});
  const int h = b.addUniformAxis("kh", g.view.kernel.h, {{src, g.wTap.h}, {dst, rowBytes}});
  const int pair = b.addAxis("pair", static_cast<int>(p.reduced));
  for (std::int64_t k = 0; k < p.reduced; ++k)
    b.addStep(pair, {{src, member(2 * k)}, {dst, k * p.width * 4}}, static_cast<int>(k));
  Call call{"pack", src, -1, dst, {blocks, pair}, {}};
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t width = cls == 0 ? std::min(p.width, p.channels / p.width * p.width) : p.channels % p.width;
    for (std::int64_t k = 0; k < p.reduced; ++k) {
      call.variants.emplace_back();
      if (width == 0) continue;
      const Copy move{.lanes = p.lanes,
                      .rows = width,
                      .cols = 1,
                      .srcPitch = g.wResult,
                      .dstPitch = p.width * 4,
                      .padCols = p.width - width,
                      .from = Element::kPair,
                      .pairPitch = 2 * k + 1 < members ? member(2 * k + 1) - member(2 * k) : 0,
                      .label = "pack_w"};
      call.variants.back().kernel = b.addKernel(turned(move));
    }
  }
  b.phase().parallelAxes = {groups, blocks, d, h};
  b.phase().body = nest({pair}, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(g.weightBytes);
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
  if (p.tapsAlongW > 1) return packTaps(b, g, p, Ends{src, dst}, groups, blocks);
  const WeightMoves moves = movesOf(g, p);
  const bool oneByOne = stepsOf(p).size() > 1 && !rowsAtOnce(moves);  // each step's matrix is one of its own
  const std::int64_t atOnce = oneByOne ? 1 : atOnceOf(moves, p);
  const Ends ends{src, dst};
  const int outer = reducedAxis(b, "k0", g, p, ends, atOnce);
  const int inner =
      rowsAtOnce(moves) ? -1 : b.addUniformAxis("k", atOnce, {{src, p.step(g)}, {dst, p.reducedPitch(g)}});
  const std::vector<int> taps = tapLoops(b, moves, src, dst);
  std::vector<Node> body;
  body.push_back(callNode(packCall(b, g, p, moves, ends, blocks, outer, atOnce, 0)));
  if (inner < 0) {
    b.phase().parallelAxes = {groups, blocks, outer};
    b.phase().body = nest(taps, std::move(body));
  } else if (g.wReduced > g.wResult) {  // read the weights from front to back: all blocks of one k, then the next
    b.phase().parallelAxes = {groups, outer};
    b.phase().body = nest(with(taps, {inner, blocks}), std::move(body));
  } else {
    b.phase().parallelAxes = {groups, blocks, outer};
    b.phase().body = nest(with(taps, {inner}), std::move(body));
  }
  b.phase().workCycles = static_cast<double>(g.weightBytes) / 64.0 * 6.0;
}

std::vector<Node> packBlock(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int source, int panel,
                            int blocks) {
  const Ends ends{source, panel};
  const WeightMoves moves = movesOf(g, p);
  const std::int64_t atOnce = rowsAtOnce(moves) ? atOnceOf(moves, p) : 1;
  const int k = reducedAxis(b, "pack_k", g, p, ends, atOnce);
  std::vector<Node> body;
  body.push_back(callNode(packCall(b, g, p, moves, ends, blocks, k, atOnce, rowsAtOnce(moves) ? 1 : 2)));
  return nest(with(tapLoops(b, moves, source, panel), {k}), std::move(body));
}

std::int64_t channelsOfPack(const DataGradient& g, const PackedWeights& p) {
  const WeightMoves moves = movesOf(g, p);
  return moves.matrix == WeightMatrix::kRows ? atOnceOf(moves, p) : 1;
}

std::vector<Node> packChannels(ProgramBuilder& b, const DataGradient& g, const PackedWeights& p, int source, int sink,
                               int blocks) {
  const WeightMoves moves = movesOf(g, p);
  std::vector<Node> body;
  body.push_back(callNode(packCall(b, g, p, moves, Ends{source, sink}, blocks, -1, channelsOfPack(g, p), 0)));
  return nest(tapLoops(b, moves, source, sink), std::move(body));
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
  // Lanes are reduction channels, rows result channels; those are few, and loops go over them unless they make the matrix.
  const std::int64_t element = elementBytes(g.weightElement);
  WeightMoves moves =
      weightMoves(g.view.kernel, g.wTap, lanes * 4, element, g.taps > 1 && g.wReduced == element, g.wResult == element);
  const bool copies = moves.matrix == WeightMatrix::kLanes, turns = moves.matrix == WeightMatrix::kRows;
  if (copies) {  // its rows are taps
    moves.taps = moves.loops.back();
    moves.loops.pop_back();
  }
  Call call{"pack", src, -1, dst, {vectors}, {Variant{}, Variant{}}};
  for (int tail = 0; tail < 2; ++tail) {
    const std::int64_t rows = tail == 1 ? reduced % lanes : std::min<std::int64_t>(lanes, reduced / lanes * lanes);
    if (rows == 0) continue;
    Copy move{.lanes = p.lanes,
              .rows = rows,
              .cols = moves.taps.count,
              .srcPitch = p.step(g),
              .dstPitch = moves.taps.packed,
              .padCols = lanes - rows,
              .label = "pack_w"};
    if (copies) {
      std::swap(move.rows, move.cols);
      move.srcPitch = moves.taps.ordered;
    } else if (turns) {
      move.cols = g.result.channels;
      move.dstPitch = tapBytes;
    }
    if (copies)
      setWords(move, g, p);
    else
      setElements(move, g, p);
    call.variants[static_cast<std::size_t>(tail)].kernel = copies ? b.addKernel(move) : b.addKernel(turned(move));
  }
  std::vector<int> loops = tapLoops(b, moves, src, dst);
  if (!turns) loops.push_back(b.addUniformAxis("n", g.result.channels, {{src, g.wResult}, {dst, tapBytes}}));
  b.phase().parallelAxes = {groups, vectors};
  b.phase().body = nest(loops, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(g.weightBytes) / 64.0 * 6.0;
}

}  // namespace cubejit
