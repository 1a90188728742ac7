// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "algorithms/direct_data/lower/tile_block.h"

#include <string>
#include <utility>

namespace cubejit {

TileProduct productOf(const TileBlock& block) {
  TileProduct p;
  const std::int64_t columns = ceilDiv(block.width, kTileColumns);
  p.label = "dx_tiles_" + std::to_string(block.pixels) + "x" + std::to_string(columns);
  p.rows = block.pixels;
  p.cols = columns * kTileColumns;
  p.tileRows = ceilDiv(block.pixels, rowTiles(block.pixels));
  p.pairs = pairsOfProduct(block.pairs);
  p.operand = elementOf(block.type);
  p.aPitch = block.aPitch;
  p.bPitch = block.packedWidth * 4;
  p.cPitch = block.cPitch;
  p.aTile = p.tileRows * p.aPitch;
  p.bTile = kTileColumns * 4;
  p.cTile = p.tileRows * p.cPitch;
  p.aStep = p.pairs * 4;
  p.bStep = p.pairs * p.bPitch;
  return p;
}

std::vector<Node> zeroColumns(ProgramBuilder& b, const Operand& operand, const ZeroColumns& columns, std::int64_t rows,
                              int stream, int lanes) {
  std::vector<Node> calls;
  const auto zero = [&](std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    Call call{"zero_columns", stream, -1, stream, {}, {}};
    call.place.offset[2] = first * operand.pitch.w;
    call.variants.push_back(Variant{b.addKernel(Fill{.lanes = lanes,
                                                     .rows = rows,
                                                     .cols = count * operand.pitch.w / 4,
                                                     .dstPitch = operand.pitch.h,
                                                     .label = "zero_columns"}),
                                    -1, false});
    calls.push_back(callNode(std::move(call)));
  };
  zero(0, columns.before);
  zero(columns.before + operand.view->extent.w, columns.behind);
  return calls;
}

}  // namespace cubejit
