// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a few long rows become one dense row that takes an element of each in turn: two-source permutes, so that whole
// vectors are stored. Leaves the tree of permutes to interleave_tree, and other transposes to transpose_block.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/moves.h"
#include "codegen/units/assembler.h"
#include "codegen/units/interleave_tree.h"

namespace cubejit {

class Interleave {
 public:
  /// True if the transpose is better interleaved, and fits the registers. 16-bit elements need an ISA that permutes words.
  static bool applies(const Transpose& transpose, const HostIsa& isa);

  /// Precondition: applies(...).
  Interleave(VectorAssembler& a, const HostIsa& isa, const Transpose& transpose);

  /// Loads the permutations into registers if there is room; to be placed before the loops around `block`.
  void loadTables();

  /// Interleaves `cols` columns, at most a vector, from where `src` points to where `dst` points.
  void block(int src, int dst, std::int64_t cols);

  /// Vector lanes of so many columns of all rows.
  std::int64_t lanesOf(std::int64_t cols) const { return cols * all() / (narrow() ? 2 : 1); }

 private:
  std::int64_t all() const { return m_.rows + m_.padCols; }
  bool narrow() const { return elementBytes(m_.to) == 2; }

  VectorAssembler& a_;
  const Transpose m_;
  const InterleaveTree tree_;
  const bool resident_;  // each table has a register of its own, behind those of the tree
  std::vector<int> constants_;
};

}  // namespace cubejit
