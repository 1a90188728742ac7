// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do the permutes bring every word to its place, for any number of rows, and few of them?
#include "codegen/units/interleave_tree.h"

#include <gtest/gtest.h>

namespace cubejit {
namespace {

// The dense row that the tree makes of rows whose words are row + 1000 * column; -1 where it reads what no row holds.
std::vector<int> interleaved(int words, int columns, int rows, const InterleaveTree& tree) {
  std::vector<std::vector<int>> registers(static_cast<std::size_t>(tree.registers),
                                          std::vector<int>(static_cast<std::size_t>(words), -1));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c)
      registers[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = r + 1000 * c;
  }
  for (const InterleaveTree::Permute& p : tree.permutes) {
    EXPECT_TRUE(p.dst != p.hi || p.dst == p.lo);  // what the vector op asks for
    std::vector<int> both = registers[static_cast<std::size_t>(p.lo)];
    const std::vector<int>& hi = registers[static_cast<std::size_t>(p.hi)];
    both.insert(both.end(), hi.begin(), hi.end());
    std::vector<int> out;
    for (const int index : tree.tables[static_cast<std::size_t>(p.table)])
      out.push_back(both.at(static_cast<std::size_t>(index)));
    registers[static_cast<std::size_t>(p.dst)] = std::move(out);
  }
  std::vector<int> dense;
  for (const int result : tree.results) {
    const std::vector<int>& held = registers[static_cast<std::size_t>(result)];
    dense.insert(dense.end(), held.begin(), held.end());
  }
  return dense;
}

TEST(InterleaveTree, BringsEveryWordToItsPlace) {
  for (const auto& [words, columns] : {std::pair(8, 8), std::pair(16, 16), std::pair(16, 8), std::pair(32, 16)}) {
    for (int rows = 2; rows <= 12; ++rows) {
      const InterleaveTree tree = interleaveTree(words, columns, rows);
      const std::vector<int> dense = interleaved(words, columns, rows, tree);
      ASSERT_GE(dense.size(), static_cast<std::size_t>(columns * rows));
      for (int i = 0; i < columns * rows; ++i)
        ASSERT_EQ(dense[static_cast<std::size_t>(i)], i % rows + 1000 * (i / rows))
            << words << " words, " << rows << " rows, " << i;
    }
  }
}

TEST(InterleaveTree, MergesPairsWhereThatTakesFewerPermutes) {
  EXPECT_EQ(interleaveTree(16, 16, 2).permutes.size(), 2U);
  EXPECT_EQ(interleaveTree(16, 16, 4).permutes.size(), 8U);
  EXPECT_LT(interleaveTree(16, 16, 9).permutes.size(), 9U * 8 * 2 / 3);  // gathered row by row it would be 9 x 8
  EXPECT_LE(interleaveTree(32, 16, 9).permutes.size(), 24U);
}

TEST(InterleaveTree, FitsTheRegisters) {
  for (int rows = 2; rows <= 9; ++rows) {
    EXPECT_LT(interleaveTree(16, 16, rows).registers, 32) << rows;
    EXPECT_LT(interleaveTree(32, 16, rows).registers, 32) << rows;
  }
  for (int rows = 2; rows <= 6; ++rows) EXPECT_LT(interleaveTree(8, 8, rows).registers, 13) << rows;
}

}  // namespace
}  // namespace cubejit
