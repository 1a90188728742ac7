// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the contracts of a lane-wise data gradient: blocks of results are rows by runs along W, and every row of the operand that
// a block needs is read once for all of its rows. A row's pairs are cut into chunks of neighbouring taps along W, equal chunks become
// one section, so that long kernels stay small in code and in registers. Leaves loops and segments to lower_data_cells.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/grouped/lower/group_axis.h"
#include "algorithms/grouped/lower/group_blocks.h"

namespace cubejit {

/// Results that one row of the operand feeds: the row of the block, and the tap along H, relative to the chunk's.
struct CellRowUse {
  std::int64_t u = 0, k = 0;
  friend bool operator==(const CellRowUse& x, const CellRowUse& y) = default;
};

/// A chunk of a block: what its section multiplies is relative to it.
struct CellChunk {
  int section = 0;                         ///< of the kernel
  std::int64_t rowTap = 0, row = 0;        ///< along H: tap, operand position
  std::int64_t columnTap = 0, column = 0;  ///< along W
};

/// Pairs along W, each multiplied for every use of the operand's row.
struct CellSection {
  std::vector<CellRowUse> rows;
  std::vector<CellPair> pairs;
  friend bool operator==(const CellSection& x, const CellSection& y) = default;
};

/// The kernel of all blocks of `rows` rows and of one class along W.
class CellKernel {
 public:
  /// `taps` neighbouring taps along W a chunk.
  CellKernel(std::int64_t rows, const CellBlockClass& columns, std::int64_t taps);

  /// Chunks of blocks of a class along H, which has as many rows as the kernel; their sections become the kernel's.
  std::vector<CellChunk> chunksOf(const CellBlockClass& rows);

  const std::vector<CellSection>& sections() const { return sections_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_.length; }

 private:
  std::int64_t rows_ = 1, taps_ = 1;
  CellBlockClass columns_;
  std::vector<CellSection> sections_;
};

/// A tensor, or panel, as the contract sees it.
struct CellRow {
  std::int64_t rowPitch = 0, pitch = 0;  ///< bytes between neighbouring rows, and positions along W
  Element element = Element::kF32;
};

/// The blocks of channels that a contract works on side by side, and how far apart they are.
struct CellUnit {
  std::vector<std::int64_t> cells;  ///< of each
  std::int64_t operandPitch = 0, weightPitch = 0, resultPitch = 0;
  std::int64_t storedCells = 0;  ///< of each block at least: lanes behind the last group are zero
};

/// The contract for a unit; `tapsOfRow` taps along W lie between neighbouring taps along H. Dot products: the operand's words are
/// pairs of bf16.
Contract cellContract(const CellKernel& kernel, const CellLanes& lanes, const CellUnit& unit, std::int64_t tapsOfRow,
                      const CellRow& operand, const CellRow& result, bool dotProducts);

}  // namespace cubejit
