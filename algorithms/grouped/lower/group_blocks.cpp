// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides permutations of groups and the moves that bring weights into, and gradients out of, lane order.
#include "algorithms/grouped/lower/group_blocks.h"

#include <algorithm>
#include <utility>

#include "algorithms/grouped/groups_of_vector.h"
#include "algorithms/kit/weight_order.h"

namespace cubejit {
namespace {

int tableOf(Contract& contract, std::vector<std::int32_t> table) {
  const auto known = std::find(contract.tables.begin(), contract.tables.end(), table);
  if (known != contract.tables.end()) return static_cast<int>(known - contract.tables.begin());
  contract.tables.push_back(std::move(table));
  return static_cast<int>(contract.tables.size()) - 1;
}

// One matrix holds all lanes of a block if neighbouring lanes are equally far apart across groups too.
bool groupsTouch(const GroupLanes& s, const GroupWeights& w) {
  return s.vectorChannels == 1 || s.vectorChannels * w.vectorPitch == w.groupPitch;
}

void addWeightMoves(ProgramBuilder& b, const GroupLanes& s, const GroupWeights& w, int weightBuffer, int packedBuffer,
                    bool pack) {
  b.beginPhase(pack ? "pack_weights" : "unpack");
  const int weights = b.addStream(pack ? "w" : "dw", weightBuffer), packed = b.addStream("packed", packedBuffer);
  const bool touch = groupsTouch(s, w);
  const std::int64_t vectorPitch = s.vectorChannels == 1 ? w.groupPitch : w.vectorPitch;
  const int blocks = b.addAxis("block", 2);
  for (std::int64_t i = 0; i < s.blocks; ++i) {
    b.addStep(blocks, {{weights, i * s.perBlock * w.groupPitch}, {packed, i * w.kernel.volume() * s.tapBytes()}},
              s.classOf(i));
  }
  const std::int64_t pieces = touch ? 1 : s.perBlock;
  const int group = b.addAxis("cell", static_cast<int>(pieces));
  for (std::int64_t i = 0; i < pieces; ++i) {
    b.addStep(group, {{weights, i * w.groupPitch}, {packed, i * s.vectorChannels * 4}}, static_cast<int>(i));
  }
  const std::int64_t element = w.pairPitch > 0 ? 2 : 4;
  WeightMoves moves =
      weightMoves(w.kernel, w.tap, s.tapBytes(), element, w.kernel.volume() > 1 && vectorPitch == element,
                  (w.pairPitch > 0 ? w.pairPitch : w.permutedPitch) == element);
  const bool copies = moves.matrix == WeightMatrix::kLanes, turns = moves.matrix == WeightMatrix::kRows;
  WeightDim rows = moves.taps;  // what makes a matrix with the lanes
  if (copies) {
    rows = moves.loops.back();
    moves.loops.pop_back();
  } else if (turns) {
    rows = {s.permutedChannels, w.permutedPitch, s.lanes * 4};
  }
  std::vector<int> loops{group};
  for (const WeightDim& d : moves.loops)
    loops.push_back(b.addUniformAxis("tap", d.count, {{weights, d.ordered}, {packed, d.packed}}));
  if (!turns)
    loops.push_back(b.addUniformAxis("j", s.permutedChannels, {{weights, w.permutedPitch}, {packed, s.lanes * 4}}));
  Call call{pack ? "pack" : "unpack", pack ? weights : packed, -1, pack ? packed : weights, {blocks, group}, {}};
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t groups = s.groupsOf(cls);
    for (std::int64_t i = 0; i < pieces; ++i) {
      Variant variant;
      if (i < groups) {
        const std::int64_t width = touch ? groups * s.vectorChannels : s.vectorChannels;
        const bool last = touch || i + 1 == groups;
        Copy move{.lanes = s.lanes,
                  .rows = rows.count,
                  .cols = width,
                  .srcPitch = rows.packed,
                  .dstPitch = copies ? rows.ordered : vectorPitch,
                  .label = "unpack_groups"};
        if (pack) {
          std::swap(move.srcPitch, move.dstPitch);
          if (!copies) std::swap(move.rows, move.cols);
          move.padCols = last ? s.lanes - groups * s.vectorChannels : 0;
          move.label = "pack_groups";
          if (w.pairPitch > 0 && !turns) {  // members that are neighbours are a word
            move.from = Element::kPair;
            move.pairPitch = w.pairPitch;
          }
        }
        variant.kernel = copies ? b.addKernel(std::move(move)) : b.addKernel(turned(move));
      }
      call.variants.push_back(variant);
    }
  }
  b.phase().parallelAxes = {blocks};
  b.phase().body = nest(loops, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(s.blocks * w.kernel.volume() * s.permutedChannels) * 8.0;
}

}  // namespace

LaneRange GroupLanes::usedLanes(std::int64_t groups) const { return lanesUpTo(groups * vectorChannels, lanes); }

std::vector<std::int64_t> GroupLanes::groupsOfUnit(int cls, std::int64_t width) const {
  const std::int64_t whole = perBlock * width, rest = groups % whole;
  std::vector<std::int64_t> ofBlocks;
  for (std::int64_t left = cls == 1 ? rest : groups >= whole ? whole : 0; left > 0; left -= perBlock)
    ofBlocks.push_back(std::min(left, perBlock));
  return ofBlocks;
}

std::string unitLabel(const std::vector<std::int64_t>& groups) {
  std::string label;
  for (const std::int64_t each : groups) label += (label.empty() ? "" : "+") + std::to_string(each);
  return label;
}

GroupLanes makeGroupLanes(int lanes, std::int64_t groups, std::int64_t vectorChannels, std::int64_t permutedChannels) {
  GroupLanes s{lanes, groups, vectorChannels, permutedChannels, 0, 0};
  if (vectorChannels > 0 && permutedChannels > 0) s.perBlock = groupsOfVector(lanes, vectorChannels, permutedChannels);
  if (s.perBlock > 0) s.blocks = (groups + s.perBlock - 1) / s.perBlock;
  return s;
}

GroupLanes makeGroupLanes(int lanes, std::int64_t groups, const TensorView& lane, const TensorView& group, bool pairs) {
  GroupLanes s = makeGroupLanes(lanes, groups, lane.channels, group.channels / (pairs ? 2 : 1));
  s.perBlock = groupsInBlocks(s.perBlock, lanes, lane, group, pairs);
  if (group.c0 > 0 && s.perBlock * group.channels > group.c0) s.secondPitch = group.blockStride;
  if (s.perBlock > 0) s.blocks = (groups + s.perBlock - 1) / s.perBlock;
  return s;
}

AOperand groupOperand(const GroupLanes& s, std::int64_t groups, std::int64_t j, std::int64_t offset,
                      Contract& contract) {
  AOperand operand;
  operand.offset = static_cast<std::int32_t>(offset);
  const std::int64_t sources = groups * s.permutedChannels;
  operand.lanes = lanesUpTo(sources, s.lanes);
  if (s.depthwise()) {
    operand.kind = AKind::kVector;
    return operand;
  }
  if (groups == 1 && contract.vectorsA == Element::kF32) {  // every lane takes the same word
    operand.offset += static_cast<std::int32_t>(j * 4);
    operand.lanes = LaneRange{};
    return operand;
  }
  operand.kind = sources <= s.lanes ? AKind::kPermute : AKind::kPermute2;
  if (operand.kind == AKind::kPermute2) {
    operand.offset2 =
        operand.offset +
        static_cast<std::int32_t>(s.secondPitch > 0 ? s.secondPitch : s.lanes * elementBytes(contract.vectorsA));
    operand.lanes2 = lanesUpTo(sources - s.lanes, s.lanes);
  }
  std::vector<std::int32_t> table(static_cast<std::size_t>(s.lanes), 0);  // idle lanes repeat a value that exists
  for (std::int64_t l = 0; l < groups * s.vectorChannels; ++l) {
    table[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(l / s.vectorChannels * s.permutedChannels + j);
  }
  operand.table = static_cast<std::int16_t>(tableOf(contract, std::move(table)));
  return operand;
}

void addGroupPack(ProgramBuilder& b, const GroupLanes& lanes, const GroupWeights& weights, int weightBuffer,
                  int packedBuffer) {
  addWeightMoves(b, lanes, weights, weightBuffer, packedBuffer, true);
}

void addGroupUnpack(ProgramBuilder& b, const GroupLanes& lanes, const GroupWeights& weights, int packedBuffer,
                    int weightBuffer) {
  addWeightMoves(b, lanes, weights, weightBuffer, packedBuffer, false);
}

}  // namespace cubejit
