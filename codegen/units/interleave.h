// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a few long rows become one dense row that takes an element of each in turn: two-source permutes, so that whole
// vectors are stored. Leaves wider transposes, and destinations with gaps, to units/transpose.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/units/assembler.h"

namespace cubejit {

class Interleave {
 public:
  /// `rows` source rows srcPitch bytes apart, then `zeroRows` rows of zeros. Precondition: applies(...).
  Interleave(VectorAssembler& a, const HostIsa& isa, std::int64_t rows, std::int64_t zeroRows, std::int64_t srcPitch);

  /// True if this many rows are better interleaved than transposed, and fit the registers.
  static bool applies(std::int64_t rows, std::int64_t zeroRows, std::int64_t srcPitch);

  /// Loads the permutations into registers if there is room; to be placed before the loops around `block`.
  void loadTables();

  /// Interleaves `cols` columns, at most a vector, from where `src` points to where `dst` points.
  void block(int src, int dst, std::int64_t cols);

  /// One permute of a tree: registers, and an index into the tree's tables.
  struct Permute {
    int dst, table, lo, hi;
  };
  struct Tree {
    std::vector<std::vector<std::int32_t>> tables;
    std::vector<Permute> permutes;
    std::vector<int> results;  ///< registers, in the order of memory
    int registers = 0;         ///< it uses [0, registers)
  };

 private:
  VectorAssembler& a_;
  const int lanes_;
  const std::int64_t rows_, all_, srcPitch_;
  const Tree tree_;
  const bool resident_;  // each table has a register of its own, behind those of the tree
  std::vector<int> constants_;
};

}  // namespace cubejit
