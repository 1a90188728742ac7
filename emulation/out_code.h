// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how sums on their way to memory are lowered: to kernels that copy, turn, convert and add, called for as many rows as lie
// evenly. Which element goes where stays with move_out, whose model leaves the same bytes. Leaves adding that several threads may do
// at once to the model: it is one indivisible step of the host, not a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "emulation/operand_tables.h"
#include "emulation/unit_code.h"

namespace cubejit {

/// Where the elements of a block go: element offset = row[m] + column[n], unless either is kMissing or the pair is no pair.
struct BlockPlaces {
  /// Rows [begin, end), equally far apart.
  struct EvenRows {
    std::int64_t begin = 0, end = 0, step = 0;
  };
  std::vector<std::int64_t> row, column;
  std::vector<EvenRows> even;  ///< all rows, if somebody has looked and each of them exists; else empty
  // dW with several groups of the problem in a real group: o and i of one group only.
  std::vector<std::int64_t> rowGroup, columnGroup;
  bool exists(std::size_t m, std::size_t n) const {
    return row[m] != kMissing && column[n] != kMissing && (rowGroup.empty() || rowGroup[m] == columnGroup[n]);
  }
  /// Fills `even`.
  void findEvenRows();
};

/// The memory of a result, and of which type its elements are.
struct OutMemory {
  std::byte* data = nullptr;
  DType type = DType::kF32;
};

/// Up to 16 columns of sums: row r is at sums + r * pitch, and stands for row firstRow + r of the places.
struct OutStrip {
  const float* sums = nullptr;
  std::int64_t pitch = 16;  ///< floats
  std::int64_t firstRow = 0, rows = 0, column = 0, columns = 0;
  bool add = false;  ///< memory += sums, f32; nobody else adds
};

/// Moves a strip. Returns the number of elements written.
std::int64_t moveStrip(const UnitCode& code, const OutStrip& strip, const OutMemory& to, const BlockPlaces& places);
/// `count` sums in a row to elements `pitch` apart.
void moveRow(const UnitCode& code, const float* sums, std::int64_t count, const OutMemory& to, std::int64_t pitch);
/// Zeros to all of `bytes`, whole elements of `to`.
void zeroMemory(const UnitCode& code, const OutMemory& to, std::int64_t bytes);

}  // namespace cubejit
