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

// How far apart rows and lanes are in dw[small][big][tap].
struct Pitch {
  std::int64_t row, lane;
};

Pitch pitchOf(const WeightsScratch& s) {
  const std::int64_t tapBytes = s.taps * elementBytes(s.dwElement);
  return s.operandsTransposed ? Pitch{tapBytes, s.rows * tapBytes} : Pitch{s.laneChannels * tapBytes, tapBytes};
}

// Whether one move takes many rows: a lane's (rows x taps) are contiguous in dw, or there is nothing to turn around.
bool manyRows(const WeightsScratch& s) { return s.operandsTransposed || s.taps == 1; }

// `width` lanes of one row, or of `rows` rows if one move takes many.
Move unpackMove(const WeightsScratch& s, std::int64_t width, std::int64_t rows) {
  const Pitch pitch = pitchOf(s);
  Move move{MoveKind::kTranspose,
            s.lanes,
            s.operandsTransposed ? rows * s.taps : s.taps,
            width,
            s.width * 4,
            pitch.lane,
            0,
            false,
            "unpack_w"};
  if (!s.operandsTransposed && s.taps == 1)
    move = Move{MoveKind::kCopy, s.lanes, rows, width, s.width * 4, pitch.row, 0, false, "unpack_w"};
  move.to = s.dwElement;
  return move;
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
  Move add{MoveKind::kAccumulate, added.lanes, 1, bytes / 4, bytes, bytes, 0, false, "combine"};
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
  const Pitch pitch = pitchOf(s);
  const std::int64_t rowBytes = s.taps * s.width * 4;
  const int groups = b.addUniformAxis(
      "g", s.groups,
      {{src, groupScratchBytes(s)}, {dst, s.rows * s.laneChannels * s.taps * elementBytes(s.dwElement)}});
  const int blocks = b.addAxis("lanes", 2);
  for (std::int64_t i = 0; i < s.laneBlocks; ++i) {
    b.addStep(blocks, {{src, i * s.rows * rowBytes}, {dst, i * s.width * pitch.lane}},
              (i + 1) * s.width <= s.laneChannels ? 0 : 1);
  }
  // Swapped: for a lane, (rows x taps) are contiguous in dw, so many rows are one matrix. Otherwise one matrix a row,
  // or, with a single tap, a plain copy of many rows.
  const std::int64_t block = divisorAtMost(s.rows, 32);
  const int outer = b.addUniformAxis("row0", s.rows / block, {{src, block * rowBytes}, {dst, block * pitch.row}});
  const int inner = manyRows(s) ? -1 : b.addUniformAxis("row", block, {{src, rowBytes}, {dst, pitch.row}});
  Call call{"unpack", src, -1, dst, {blocks}, {Variant{}, Variant{}}};
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t width = cls == 0 ? s.width : s.laneChannels % s.width;
    if (width == 0 || (cls == 0 && s.laneChannels < s.width)) continue;
    call.variants[static_cast<std::size_t>(cls)].kernel = b.addKernel(unpackMove(s, width, block));
  }
  std::vector<Node> body;
  body.push_back(callNode(std::move(call)));
  b.phase().parallelAxes = {groups, blocks, outer};
  b.phase().body = inner < 0 ? std::move(body) : nest({inner}, std::move(body));
  b.phase().workCycles = static_cast<double>(scratchBytes(s)) / 64.0 * 6.0;
}

std::vector<Node> unpackBlock(ProgramBuilder& b, const WeightsScratch& s, std::int64_t registerRows,
                              UnpackStreams streams, int rows, int lanes) {
  const Pitch pitch = pitchOf(s);
  const auto moves = [&](int axis, std::int64_t step) {
    for (std::int64_t i = 0; i < b.axisSteps(axis); ++i) b.moveStep(axis, i, streams.dw, i * step);
  };
  moves(rows, registerRows * pitch.row);
  moves(lanes, s.width * pitch.lane);
  std::vector<Node> perBlock;
  for (int tail = 0; tail < 2; ++tail) {  // whole row blocks, then the narrow one: each has its own number of rows
    const std::int64_t count =
        tail == 1 ? s.rows % registerRows : std::min(registerRows, s.rows / registerRows * registerRows);
    if (count == 0) continue;
    Call call{"unpack", streams.acc, -1, streams.dw, {lanes, rows}, std::vector<Variant>(4)};
    for (int narrow = 0; narrow < 2; ++narrow) {
      const std::int64_t width = narrow == 1 ? s.laneChannels % s.width : std::min(s.width, s.laneChannels);
      if (width == 0 || (narrow == 0 && s.laneChannels < s.width)) continue;
      call.variants[static_cast<std::size_t>(narrow * 2 + tail)].kernel = b.addKernel(unpackMove(s, width, count));
    }
    std::vector<Node> body;
    body.push_back(callNode(std::move(call)));
    const std::int64_t rowBytes = s.taps * s.width * 4;
    if (!manyRows(s))
      body =
          nest({b.addUniformAxis("row", count, {{streams.acc, rowBytes}, {streams.dw, pitch.row}})}, std::move(body));
    for (Node& node : body) perBlock.push_back(std::move(node));
  }
  return perBlock;
}

Node unpackTask(ProgramBuilder& b, const WeightsScratch& s, std::int64_t registerRows, UnpackStreams streams, int rows,
                int lanes) {
  return loopNode(lanes, {loopNode(rows, unpackBlock(b, s, registerRows, streams, rows, lanes))});
}

}  // namespace cubejit
