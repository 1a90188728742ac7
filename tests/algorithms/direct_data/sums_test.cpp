// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the numbers of blocks, passes and rows that data gradients' costs are made of.
#include "algorithms/direct_data/sums.h"

#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace cubejit {
namespace {

Problem line(std::int64_t columns, std::int64_t kernel, std::int64_t stride) {
  Problem p = problemOf(1, 1, 1, {1, 1, columns}, {1, 1, kernel}, {0, 0, 0}, {1, 1, stride});
  p.rank = 1;
  return p;
}

// 12 columns, 3 taps, 10 outputs: each tap reaches ten of the columns, which blocks of four cut in three.
TEST(DataSums, CountBlocksVisitsAndRows) {
  const DataSums sums = dataSums(makeConvView(line(12, 3, 1), Pass::kDx), {1, 1, 4});
  EXPECT_EQ(sums.blocks, 3);
  EXPECT_EQ(sums.results, 12);
  EXPECT_EQ(sums.rows, 30);
  EXPECT_EQ(sums.passes, 9);
}

// Two residue classes of six columns; of three taps two reach the even ones, one the odd ones.
TEST(DataSums, ResidueClassesOfAStrideAreBlocksApart) {
  const DataSums sums = dataSums(makeConvView(line(13, 3, 2), Pass::kDx), {1, 1, 16});
  EXPECT_EQ(sums.blocks, 2);
  EXPECT_EQ(sums.results, 13);
  EXPECT_EQ(sums.rows, 18);
  EXPECT_EQ(sums.passes, 3);
}

TEST(DataSums, SlabsReadWhatNeighboursReadAgain) {
  const ConvView v = makeConvView(line(12, 3, 1), Pass::kDx), strided = makeConvView(line(13, 3, 2), Pass::kDx);
  EXPECT_DOUBLE_EQ(overlap(v, 4, 2), 1.5);
  EXPECT_DOUBLE_EQ(overlap(strided, 4, 2), 1.25);
  EXPECT_DOUBLE_EQ(overlap(v, 4, 1), 1.0);
}

}  // namespace
}  // namespace cubejit
