// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what candidates and costs of vectors of pixels see of a problem against counts by hand.
#include "algorithms/spatial/data_shape.h"

#include <gtest/gtest.h>

namespace cubejit {
namespace {

Problem depthwise(std::int64_t stride, std::int64_t dilation) {
  Problem p;
  p.rank = 2;
  p.groups = p.cin = p.cout = 8;
  p.kernel = Dhw{1, 3, 3};
  p.stride = Dhw{1, stride, stride};
  p.dilation = Dhw{1, dilation, dilation};
  p.padBefore = p.padAfter = Dhw{0, dilation, dilation};
  p.in = Dhw{1, 24, 40};
  p.out = Dhw{1, 24 / stride, 40 / stride};
  p.layout = Layout::kNcdhw;
  return p;
}

TEST(SpatialView, RowsOfATileShareOperandRows) {
  const SpatialView dense(depthwise(1, 1));
  EXPECT_DOUBLE_EQ(dense.usesOfRow(1), 1.0);
  EXPECT_DOUBLE_EQ(dense.usesOfRow(4), 12.0 / 6);
  EXPECT_DOUBLE_EQ(SpatialView(depthwise(1, 2)).usesOfRow(4), 12.0 / 8);
  // Residue classes of one and of two taps: two and three rows.
  EXPECT_DOUBLE_EQ(SpatialView(depthwise(2, 1)).usesOfRow(2), 6.0 / 5);
}

TEST(SpatialView, ResidueClassesAlongWAreCounted) {
  EXPECT_EQ(SpatialView(depthwise(1, 1)).residues.size(), 1U);
  const SpatialView strided(depthwise(2, 1));
  EXPECT_EQ(strided.residues.size(), 2U);
  EXPECT_EQ(strided.longest, 20);
  EXPECT_EQ(strided.insideTaps(1), 12 + 12 + 11);  // the last row's second tap lies behind dy
}

TEST(SpatialView, WideStridesHaveNoClasses) {
  Problem p = depthwise(1, 1);
  p.stride = Dhw{1, 1, 65};
  EXPECT_TRUE(SpatialView(p).residues.empty());
}

}  // namespace
}  // namespace cubejit
