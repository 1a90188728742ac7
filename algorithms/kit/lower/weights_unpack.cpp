// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the combine and unpack phases of a weight gradient.
#include "algorithms/kit/lower/weights_unpack.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "algorithms/kit/lower/data_gradient.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// How `rows` rows leave: a matrix with the lanes, and the loops around it, outermost first.
struct Unpacked {
  bool copies = false;  ///< lanes are neighbours in dw, too
  WeightDim matrix;
  std::vector<WeightDim> loops;
};

Unpacked unpacked(const WeightsScratch& s, std::int64_t rows) {
  std::vector<WeightDim> dims = joined(tapDims(s.kernel, s.dw.tap, s.width * 4));
  const WeightDim row{rows, s.dwRow(), s.taps * s.width * 4};
  const auto near = [&](const WeightDim& d) { return d.ordered == s.dw.element; };
  const bool nearTaps = std::any_of(dims.begin(), dims.end(), near), apart = nearTaps && !s.operandsTransposed;
  dims.insert(dims.begin(), row);
  Unpacked out{!s.operandsTransposed && !nearTaps && s.dwLane() == s.dw.element, {1, s.dw.element, s.width * 4}, {}};
  // Rows of the small tensor have lanes between their taps: they are matrices one by one.
  out.loops = apart ? dims : joined(dims);
  if (out.loops.empty()) out.loops.push_back(row);
  const auto longest = [](const WeightDim& x, const WeightDim& y) { return x.count < y.count; };
  const auto matrix = out.copies ? std::max_element(out.loops.begin(), out.loops.end(), longest)
                                 : std::find_if(out.loops.begin() + (apart ? 1 : 0), out.loops.end(), near);
  if (matrix == out.loops.end()) return out;
  out.matrix = *matrix;
  out.loops.erase(matrix);
  return out;
}

// `width` lanes of a matrix.
Kernel unpackMove(const WeightsScratch& s, const Unpacked& u, std::int64_t width) {
  const Copy move{.lanes = s.lanes,
                  .rows = u.matrix.count,
                  .cols = width,
                  .srcPitch = u.matrix.packed,
                  .dstPitch = u.copies ? u.matrix.ordered : s.dwLane(),
                  .to = s.dwElement,
                  .label = "unpack_w"};
  return u.copies ? Kernel(move) : Kernel(turned(move));
}

std::vector<Node> inLoops(ProgramBuilder& b, const Unpacked& u, UnpackStreams streams, std::vector<Node> body) {
  std::vector<int> axes;
  for (const WeightDim& d : u.loops)
    axes.push_back(b.addUniformAxis("row", d.count, {{streams.acc, d.packed}, {streams.dw, d.ordered}}));
  return nest(axes, std::move(body));
}

}  // namespace

namespace {

constexpr std::int64_t kPartsInARow =
    64;  // more of them are summed group by group: sums of thousands in a row lose digits

// The parts that begin `at` so many parts are summed, in order, into the first of each group; returns where those begin.
std::vector<std::int64_t> addGroups(ProgramBuilder& b, const AddedParts& added, const std::vector<std::int64_t>& at) {
  b.beginPhase("combine");
  const int src = b.addStream("split", added.buffer), dst = b.addStream("sum", added.buffer);
  const std::int64_t vector = added.lanes * 4, unit = added.bytes % vector == 0 ? vector : 4,
                     pieces = added.bytes / unit;
  const std::int64_t perTask = divisorAtMost(pieces, 32768 / unit), bytes = perTask * unit;
  const int piece = b.addUniformAxis("piece", pieces / perTask, {{src, bytes}, {dst, bytes}});
  const int split = b.addAxis("split");
  const auto parts = static_cast<std::int64_t>(at.size()), groups = ceilDiv(parts, kPartsInARow);
  const int group = groups > 1 ? b.addAxis("group", static_cast<int>(groups)) : -1;
  std::vector<std::int64_t> firsts;
  std::vector<Window> windows;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t first = parts * g / groups;
    firsts.push_back(at[static_cast<std::size_t>(first)]);
    if (group >= 0) b.addStep(group, {{dst, firsts.back() * added.bytes}}, static_cast<int>(g));
    const auto begin = static_cast<int>(b.axisSteps(split));
    for (std::int64_t i = first + 1; i < parts * (g + 1) / groups; ++i)
      b.addStep(split, {{src, at[static_cast<std::size_t>(i)] * added.bytes}});
    windows.push_back(Window{begin, static_cast<int>(b.axisSteps(split))});
  }
  b.phase().parallelAxes = {piece};
  if (group >= 0) {
    b.phase().axes[static_cast<std::size_t>(split)].windowAxis = group;
    b.phase().axes[static_cast<std::size_t>(split)].windows = std::move(windows);
    b.phase().parallelAxes = {group, piece};
  }
  const Accumulate add{
      .lanes = added.lanes, .rows = 1, .cols = bytes / 4, .srcPitch = bytes, .dstPitch = bytes, .label = "combine"};
  Call call{"combine", src, -1, dst, {}, {Variant{b.addKernel(add), -1, false}}};
  b.phase().body = nest({split}, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(added.bytes * (parts - groups)) / 16.0;
  return firsts;
}

}  // namespace

void addPartsCombine(ProgramBuilder& b, const AddedParts& added) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(added.parts));
  std::iota(at.begin(), at.end(), std::int64_t{0});
  while (at.size() > 1) at = addGroups(b, added, at);
}

void addWeightsUnpack(ProgramBuilder& b, const WeightsScratch& s) {
  if (s.splits > 1) addPartsCombine(b, AddedParts{s.scratchBuffer, s.splits, scratchBytes(s), s.lanes});
  b.beginPhase("unpack");
  const int src = b.addStream("acc", s.scratchBuffer), dst = b.addStream("dw", s.dwBuffer);
  const std::int64_t rowBytes = s.taps * s.width * 4;
  const int groups = b.addUniformAxis("g", s.groups, {{src, groupScratchBytes(s)}, {dst, s.dw.group}});
  const int blocks = b.addAxis("lanes", 2);
  for (std::int64_t i = 0; i < s.laneBlocks; ++i) {
    b.addStep(blocks, {{src, i * s.rows * rowBytes}, {dst, i * s.width * s.dwLane()}},
              (i + 1) * s.width <= s.laneChannels ? 0 : 1);
  }
  const std::int64_t block = divisorAtMost(s.rows, 32);
  const int outer = b.addUniformAxis("row0", s.rows / block, {{src, block * rowBytes}, {dst, block * s.dwRow()}});
  const Unpacked u = unpacked(s, block);
  Call call{"unpack", src, -1, dst, {blocks}, {Variant{}, Variant{}}};
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t width = cls == 0 ? s.width : s.laneChannels % s.width;
    if (width == 0 || (cls == 0 && s.laneChannels < s.width)) continue;
    call.variants[static_cast<std::size_t>(cls)].kernel = b.addKernel(unpackMove(s, u, width));
  }
  std::vector<Node> body;
  body.push_back(callNode(std::move(call)));
  b.phase().parallelAxes = {groups, blocks, outer};
  b.phase().body = inLoops(b, u, UnpackStreams{src, dst}, std::move(body));
  b.phase().workCycles = static_cast<double>(scratchBytes(s)) / 64.0 * 6.0;
}

std::vector<Node> unpackBlock(ProgramBuilder& b, const WeightsScratch& s, std::int64_t registerRows,
                              UnpackStreams streams, int rows, int lanes) {
  b.moveSteps(rows, streams.dw, registerRows * s.dwRow());
  b.moveSteps(lanes, streams.dw, s.width * s.dwLane());
  std::vector<Node> perBlock;
  for (int tail = 0; tail < 2; ++tail) {  // whole row blocks, then the narrow one: each has its own number of rows
    const std::int64_t count =
        tail == 1 ? s.rows % registerRows : std::min(registerRows, s.rows / registerRows * registerRows);
    if (count == 0) continue;
    const Unpacked u = unpacked(s, count);
    Call call{"unpack", streams.acc, -1, streams.dw, {lanes, rows}, std::vector<Variant>(4)};
    for (int narrow = 0; narrow < 2; ++narrow) {
      const std::int64_t width = narrow == 1 ? s.laneChannels % s.width : std::min(s.width, s.laneChannels);
      if (width == 0 || (narrow == 0 && s.laneChannels < s.width)) continue;
      call.variants[static_cast<std::size_t>(narrow * 2 + tail)].kernel = b.addKernel(unpackMove(s, u, width));
    }
    std::vector<Node> body;
    body.push_back(callNode(std::move(call)));
    for (Node& node : inLoops(b, u, streams, std::move(body))) perBlock.push_back(std::move(node));
  }
  return perBlock;
}

Node unpackTask(ProgramBuilder& b, const WeightsScratch& s, std::int64_t registerRows, UnpackStreams streams, int rows,
                int lanes) {
  return loopNode(lanes, {loopNode(rows, unpackBlock(b, s, registerRows, streams, rows, lanes))});
}

}  // namespace cubejit
