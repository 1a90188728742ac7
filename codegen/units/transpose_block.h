// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one block of at most lanes x lanes elements is transposed in registers: unpack pairs, then quads, then 128-bit blocks.
// Work on rows that do not exist and for columns nobody stores is left out.
#pragma once

#include <cstdint>

#include "codegen/units/assembler.h"
#include "codegen/units/element_code.h"

namespace cubejit {

struct TransposeBlock {
  int lanes = 16;
  int src = 0, dst = 0, walk = 0;           ///< scalar registers: first source row, first destination row, scratch
  std::int64_t srcPitch = 0, dstPitch = 0;  ///< bytes
  int rows = 16, cols = 16;                 ///< of the source block
  std::int64_t prefetchAhead = 0;           ///< bytes behind each source row to ask for; 0: nothing
  int storeLanes = 16;  ///< lanes to store a destination row: `rows`, or more to write zeros behind them
};

/// `elements` reads and writes what the network turns.
void transposeBlock(VectorAssembler& a, const TransposeBlock& block, ElementCode& elements);

}  // namespace cubejit
