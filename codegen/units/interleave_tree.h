// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how rows that lie in registers become one dense row that takes a word of each in turn: a list of two-source permutes.
// Knows words and registers only; units/interleave loads, permutes and stores.
#pragma once

#include <cstdint>
#include <vector>

namespace cubejit {

struct InterleaveTree {
  /// registers[dst] = permute of registers lo and hi by a table.
  struct Permute {
    int dst, table, lo, hi;
  };
  std::vector<std::vector<int>> tables;  ///< indices into the words of lo and, behind them, of hi
  std::vector<Permute> permutes;
  std::vector<int> results;  ///< registers, in the order of memory
  int registers = 0;         ///< it uses [0, registers)
};

/// Register r holds `columns` words of row r (0 <= r < rows), in its first places of `words`.
InterleaveTree interleaveTree(int words, int columns, int rows);

}  // namespace cubejit
