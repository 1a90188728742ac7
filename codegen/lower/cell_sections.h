// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the contracts of a lane-wise data gradient: a block's pairs are cut into chunks of neighbouring taps along W, equal chunks
// become one section, so that long kernels stay small in code and in registers. Leaves loops and segments to lower_data_cells.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/cell_axis.h"
#include "codegen/lower/cells.h"

namespace cubejit {

/// A chunk of a block: pairs with k and offset relative to the chunk's own.
struct CellChunk {
  int section = 0;                 ///< of the block class' contract
  std::int64_t k = 0, offset = 0;  ///< added back
};

/// What all blocks of one class along W run.
struct CellKernel {
  std::vector<std::vector<CellPair>> sections;
  std::vector<CellChunk> chunks;
  std::int64_t length = 0;
};

/// `taps` neighbouring taps a chunk.
CellKernel makeCellKernel(const CellBlockClass& block, std::int64_t taps);

/// A tensor, or panel, as the contract sees it.
struct CellRow {
  std::int64_t pitch = 0;  ///< bytes between neighbouring positions along W
  Element element = Element::kF32;
};

/// The contract for blocks of `cells` cells. Dot products: the operand's words are pairs of bf16.
Contract cellContract(const CellKernel& kernel, const CellLanes& lanes, std::int64_t cells, const CellRow& operand,
                      const CellRow& result, bool dotProducts);

}  // namespace cubejit
