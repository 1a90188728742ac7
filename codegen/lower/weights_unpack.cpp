// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the combine and unpack phases of a weight gradient.
#include "codegen/lower/weights_unpack.h"

#include <algorithm>
#include <string>

#include "codegen/lower/data_gradient.h"

namespace cubejit {

void addWeightsCombine(ProgramBuilder& b, const WeightsScratch& s) {
  b.beginPhase("combine");
  const int src = b.addStream("split", s.scratchBuffer), dst = b.addStream("sum", s.scratchBuffer);
  const std::int64_t elements = scratchBytes(s) / 4, pieces = elements / s.width;
  const std::int64_t perTask = divisorAtMost(pieces, std::max<std::int64_t>(1, 8192 / s.width));
  const std::int64_t bytes = perTask * s.width * 4;
  const int piece = b.addUniformAxis("piece", pieces / perTask, {{src, bytes}, {dst, bytes}});
  const int split = b.addAxis("split");
  for (std::int64_t i = 1; i < s.splits; ++i) b.addStep(split, {{src, i * scratchBytes(s)}});
  Move add{MoveKind::kAccumulate, s.lanes, 1, bytes / 4, bytes, bytes, 0, false, "combine"};
  Call call{"combine", src, -1, dst, {}, {Variant{b.addKernel(add), -1, false}}};
  b.phase().parallelAxes = {piece};
  b.phase().body = nest({split}, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(scratchBytes(s) * (s.splits - 1)) / 16.0;
}

void addWeightsUnpack(ProgramBuilder& b, const WeightsScratch& s) {
  if (s.splits > 1) addWeightsCombine(b, s);
  b.beginPhase("unpack");
  const int src = b.addStream("acc", s.scratchBuffer), dst = b.addStream("dw", s.dwBuffer);
  const std::int64_t tapBytes = s.taps * 4, rowBytes = s.taps * s.width * 4;
  // dw[small][big][tap]: how far apart rows and lanes are there.
  const std::int64_t rowPitch = s.swapped ? tapBytes : s.laneChannels * tapBytes;
  const std::int64_t lanePitch = s.swapped ? s.rows * tapBytes : tapBytes;
  const int groups =
      b.addUniformAxis("g", s.groups, {{src, groupScratchBytes(s)}, {dst, s.rows * s.laneChannels * tapBytes}});
  const int blocks = b.addAxis("lanes", 2);
  for (std::int64_t i = 0; i < s.laneBlocks; ++i) {
    b.addStep(blocks, {{src, i * s.rows * rowBytes}, {dst, i * s.width * lanePitch}},
              (i + 1) * s.width <= s.laneChannels ? 0 : 1);
  }
  // Swapped: for a lane, (rows x taps) are contiguous in dw, so many rows are one matrix. Otherwise one matrix a row,
  // or, with a single tap, a plain copy of many rows.
  const std::int64_t chunk = divisorAtMost(s.rows, 32);
  const bool copies = !s.swapped && s.taps == 1;
  const int outer = b.addUniformAxis("row0", s.rows / chunk, {{src, chunk * rowBytes}, {dst, chunk * rowPitch}});
  const int inner = s.swapped || copies ? -1 : b.addUniformAxis("row", chunk, {{src, rowBytes}, {dst, rowPitch}});
  Call call{"unpack", src, -1, dst, {blocks}, {Variant{}, Variant{}}};
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t width = cls == 0 ? s.width : s.laneChannels % s.width;
    if (width == 0 || (cls == 0 && s.laneChannels < s.width)) continue;
    Move move{MoveKind::kTranspose, s.lanes, s.taps, width, s.width * 4, lanePitch, 0, false, "unpack_w"};
    if (s.swapped) move.rows = chunk * s.taps;
    if (copies) move = Move{MoveKind::kCopy, s.lanes, chunk, width, rowBytes, rowPitch, 0, false, "unpack_w"};
    call.variants[static_cast<std::size_t>(cls)].kernel = b.addKernel(move);
  }
  std::vector<Node> body;
  body.push_back(callNode(std::move(call)));
  b.phase().parallelAxes = {groups, blocks, outer};
  b.phase().body = inner < 0 ? std::move(body) : nest({inner}, std::move(body));
  b.phase().workCycles = static_cast<double>(scratchBytes(s)) / 64.0 * 6.0;
}

}  // namespace cubejit
