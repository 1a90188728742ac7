// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides permutations of cells and the moves that bring weights into, and gradients out of, lane order.
#include "algorithms/grouped/lower/group_blocks.h"

#include <algorithm>
#include <utility>

#include "algorithms/grouped/groups_of_vector.h"

namespace cubejit {
namespace {

int tableOf(Contract& contract, std::vector<std::int32_t> table) {
  const auto known = std::find(contract.tables.begin(), contract.tables.end(), table);
  if (known != contract.tables.end()) return static_cast<int>(known - contract.tables.begin());
  contract.tables.push_back(std::move(table));
  return static_cast<int>(contract.tables.size()) - 1;
}

// One matrix holds all lanes of a block if neighbouring lanes are equally far apart across cells too.
bool cellsTouch(const CellLanes& s, const CellWeights& w) {
  return s.laneChannels == 1 || s.laneChannels * w.lanePitch == w.groupPitch;
}

void addWeightMoves(ProgramBuilder& b, const CellLanes& s, const CellWeights& w, int weightBuffer, int packedBuffer,
                    bool pack) {
  b.beginPhase(pack ? "pack_weights" : "unpack");
  const int weights = b.addStream(pack ? "w" : "dw", weightBuffer), packed = b.addStream("packed", packedBuffer);
  const bool touch = cellsTouch(s, w);
  const std::int64_t lanePitch = s.laneChannels == 1 ? w.groupPitch : w.lanePitch;
  const int blocks = b.addAxis("block", 2);
  for (std::int64_t i = 0; i < s.blocks; ++i) {
    b.addStep(blocks, {{weights, i * s.perBlock * w.groupPitch}, {packed, i * w.taps * s.tapBytes()}}, s.classOf(i));
  }
  const std::int64_t pieces = touch ? 1 : s.perBlock;
  const int cell = b.addAxis("cell", static_cast<int>(pieces));
  for (std::int64_t i = 0; i < pieces; ++i) {
    b.addStep(cell, {{weights, i * w.groupPitch}, {packed, i * s.laneChannels * 4}}, static_cast<int>(i));
  }
  const int channel = b.addUniformAxis("j", s.cellChannels, {{weights, w.cellPitch}, {packed, s.lanes * 4}});
  Call call{pack ? "pack" : "unpack", pack ? weights : packed, -1, pack ? packed : weights, {blocks, cell}, {}};
  for (int cls = 0; cls < 2; ++cls) {
    const std::int64_t cells = s.cellsOf(cls);
    for (std::int64_t i = 0; i < pieces; ++i) {
      Variant variant;
      if (i < cells) {
        const std::int64_t width = touch ? cells * s.laneChannels : s.laneChannels;
        const bool last = touch || i + 1 == cells;
        Move move{MoveKind::kTranspose, s.lanes, w.taps, width, s.tapBytes(), lanePitch, 0, false, "unpack_cells"};
        if (pack) {
          move = Move{MoveKind::kTranspose,
                      s.lanes,
                      width,
                      w.taps,
                      lanePitch,
                      s.tapBytes(),
                      last ? s.lanes - cells * s.laneChannels : 0,
                      false,
                      "pack_cells"};
          if (w.pairPitch > 0) {
            move.from = Element::kPair;
            move.pairPitch = w.pairPitch;
          }
        }
        variant.kernel = b.addKernel(std::move(move));
      }
      call.variants.push_back(variant);
    }
  }
  b.phase().parallelAxes = {blocks};
  b.phase().body = nest({cell, channel}, {callNode(std::move(call))});
  b.phase().workCycles = static_cast<double>(s.blocks * w.taps * s.cellChannels) * 8.0;
}

}  // namespace

LaneRange CellLanes::usedLanes(std::int64_t cells) const { return lanesUpTo(cells * laneChannels, lanes); }

std::vector<std::int64_t> CellLanes::cellsOfUnit(int cls, std::int64_t width) const {
  const std::int64_t whole = perBlock * width, rest = groups % whole;
  std::vector<std::int64_t> cells;
  for (std::int64_t left = cls == 1 ? rest : groups >= whole ? whole : 0; left > 0; left -= perBlock)
    cells.push_back(std::min(left, perBlock));
  return cells;
}

std::string unitLabel(const std::vector<std::int64_t>& cells) {
  std::string label;
  for (const std::int64_t each : cells) label += (label.empty() ? "" : "+") + std::to_string(each);
  return label;
}

CellLanes makeCellLanes(int lanes, std::int64_t groups, std::int64_t laneChannels, std::int64_t cellChannels) {
  CellLanes s{lanes, groups, laneChannels, cellChannels, 0, 0};
  if (laneChannels > 0 && cellChannels > 0) s.perBlock = cellsOfVector(lanes, laneChannels, cellChannels);
  if (s.perBlock > 0) s.blocks = (groups + s.perBlock - 1) / s.perBlock;
  return s;
}

CellLanes makeCellLanes(int lanes, std::int64_t groups, const TensorView& lane, const TensorView& cell, bool pairs) {
  CellLanes s = makeCellLanes(lanes, groups, lane.channels, cell.channels / (pairs ? 2 : 1));
  s.perBlock = cellsInBlocks(s.perBlock, lanes, lane, cell, pairs);
  if (cell.c0 > 0 && s.perBlock * cell.channels > cell.c0) s.secondPitch = cell.blockStride;
  if (s.perBlock > 0) s.blocks = (groups + s.perBlock - 1) / s.perBlock;
  return s;
}

AOperand cellOperand(const CellLanes& s, std::int64_t cells, std::int64_t j, std::int64_t offset, Contract& contract) {
  AOperand operand;
  operand.offset = static_cast<std::int32_t>(offset);
  const std::int64_t sources = cells * s.cellChannels;
  operand.lanes = lanesUpTo(sources, s.lanes);
  if (s.depthwise()) {
    operand.kind = AKind::kVector;
    return operand;
  }
  if (cells == 1 && contract.vectorsA == Element::kF32) {  // every lane takes the same word
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
  for (std::int64_t l = 0; l < cells * s.laneChannels; ++l) {
    table[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(l / s.laneChannels * s.cellChannels + j);
  }
  operand.table = static_cast<std::int16_t>(tableOf(contract, std::move(table)));
  return operand;
}

void addCellPack(ProgramBuilder& b, const CellLanes& lanes, const CellWeights& weights, int weightBuffer,
                 int packedBuffer) {
  addWeightMoves(b, lanes, weights, weightBuffer, packedBuffer, true);
}

void addCellUnpack(ProgramBuilder& b, const CellLanes& lanes, const CellWeights& weights, int packedBuffer,
                   int weightBuffer) {
  addWeightMoves(b, lanes, weights, weightBuffer, packedBuffer, false);
}

}  // namespace cubejit
