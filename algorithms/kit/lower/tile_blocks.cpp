// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "algorithms/kit/lower/tile_blocks.h"

#include "algorithms/kit/matrix_tiles.h"

namespace cubejit {

TileProduct productOf(const TileBlock& block) {
  TileProduct p;
  p.label = block.label;
  p.rows = block.rows;
  p.cols = block.cols;
  p.tileRows = ceilDiv(block.rows, rowTiles(block.rows));
  p.pairs = block.pairs;
  p.operand = elementOf(block.type);
  p.aPitch = block.aPitch;
  p.bPitch = block.bPitch;
  p.cPitch = block.cPitch;
  p.aTile = p.tileRows * p.aPitch;
  p.bTile = kTileColumns * 4;
  p.cTile = p.tileRows * p.cPitch;
  p.aStep = p.pairs * 4;
  p.bStep = p.pairs * p.bPitch;
  return p;
}

Fill zeroRuns(int lanes, std::int64_t bytes, std::int64_t step, const std::string& label) {
  const bool words = bytes % 4 == 0;
  return {.lanes = lanes,
          .rows = 1,
          .cols = words ? bytes / 4 : bytes / 2,
          .dstPitch = bytes,
          .element = words ? Element::kF32 : Element::kHalf,
          .list = ListSteps{0, step},
          .label = label};
}

}  // namespace cubejit
