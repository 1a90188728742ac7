// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides one TileProgram small enough to follow by hand, with a bit of everything: two kernels, a parallel axis, a list,
// classes, accumulation, repetition inside the kernel and a constant buffer.
#pragma once

#include "codegen/tile/program.h"

namespace cubejit {

/// Phase "pack" copies x, 8 rows of 8 f32 that lie 9 apart, into a dense panel: two tasks of 4 rows.
/// Phase "contract" then makes 5 pairs of vectors of dx from it: pair i is {sum, twice the sum} of panel[0 .. 7][i] lane by lane
/// with the constants 1 .. 8, the last pair added to what dx holds.
inline TileProgram smallTileProgram() {
  TileProgram p;
  p.name = "small";
  p.buffers = {{"x", Buffer::Use::kInput, 8 * 36, {}},
               {"panel", Buffer::Use::kShared, 8 * 32, {}},
               {"ramp", Buffer::Use::kConstant, 32, {1, 2, 3, 4, 5, 6, 7, 8}},
               {"dx", Buffer::Use::kOutput, 5 * 64, {}}};

  Contract tile;
  tile.lanes = 8;
  tile.label = "tile";
  tile.accumulators = {{0, {}}, {32, {}}};
  AOperand once, twice;
  once.uses = {{0, 0}, {1, 0}};
  twice.uses = {{1, 0}};
  tile.sections = {{{{{{0, {}}}, {once, twice}}}, 32, 0}};
  const Copy pack{.lanes = 8, .rows = 4, .cols = 8, .srcPitch = 36, .dstPitch = 32, .label = "pack"};
  p.kernels = {tile, pack};
  p.lists = {{{{0, 0, 8}}}};

  Phase packing;
  packing.name = "pack";
  packing.streams = {{"src", 0, 0}, {"dst", 1, 0}};
  packing.axes = {{"half", 1, {{{0, 0}, 0, 1, {}}, {{144, 128}, 0, 1, {}}}, -1, {}}};
  packing.parallelAxes = {0};
  packing.body = {{-1, {}, {"pack", 0, -1, 1, {}, {{1, -1, false}}}}};

  Phase contracting;
  contracting.name = "contract";
  contracting.streams = {{"a", 1, 0}, {"b", 2, 0}, {"c", 3, 0}};
  contracting.axes = {{"row", 2, {{{0, 0, 0}, 0, 4, {4, 0, 64}}, {{16, 0, 256}, 1, 1, {}}}, -1, {}}};
  contracting.body = {{0, {{-1, {}, {"contract", 0, 1, 2, {0}, {{0, 0, false}, {0, 0, true}}}}}, {}}};
  p.phases = {packing, contracting};
  return p;
}

}  // namespace cubejit
