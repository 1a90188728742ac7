// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of single shapes: rules, what is read and where blocks lie, by the formulas of the documentation.
#include "api/ascendc/kernel/single_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubejit::ascendc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

InputTiling smallInputTiling() {
  InputTiling t;
  t.batch = 2, t.cin = 20, t.cout = 40, t.cin1 = t.cin1G = 2, t.cout1 = t.cout1G = 3, t.c0 = 16, t.group = 1;
  t.dk = 2, t.hk = 3, t.wk = 3, t.di = 4, t.hi = 9, t.wi = 7, t.dout = 2, t.ho = 5, t.wo = 4;
  t.strideD = t.strideH = t.strideW = 2, t.dilationD = t.dilationH = t.dilationW = 1;
  t.padUp = t.padDown = t.padLeft = t.padRight = 1;
  t.backpropPadUp = t.backpropPadLeft = 1;
  t.baseM = 32, t.baseN = 16;
  return t;
}

FilterTiling smallFilterTiling() {
  FilterTiling t;
  t.batch = 2, t.cin = 20, t.cout = 40, t.cin1G = 2, t.cout1G = 3, t.channelSize = 16, t.group = 1;
  t.dk = 2, t.hk = 3, t.wk = 3, t.di = 4, t.hi = 9, t.wi = 7, t.dout = 2, t.ho = 5, t.wo = 4;
  t.strideD = t.strideH = t.strideW = 2, t.dilationD = t.dilationH = t.dilationW = 1;
  t.padUp = t.padDown = t.padLeft = t.padRight = 1;
  t.baseM = 32, t.baseN = 48;
  return t;
}

constexpr std::int64_t kK = 3 * 2 * 9 * 16;

TEST(SingleShape, RulesOfAnInputGradient) {
  const InputTiling t = smallInputTiling();
  EXPECT_THAT(singleShapeRules(t, {9 * 7, kK, 20, 3, -1}), ElementsAre());
  EXPECT_THAT(singleShapeRules(t, {3 * 7, kK / 3, 4, 0, 5}), ElementsAre());
  EXPECT_THAT(singleShapeRules(t, {0, 0, 0, 4, 8}),
              ElementsAre("singleShapeM = 0 must be whole rows, a multiple of wi = 7",
                          "singleShapeK = 0 must be 1 to cout1G = 3 times dk x hk x wk x c0 = 288",
                          "singleShapeN = 0 must be 1 to cin1G x c0 = 32",
                          "curDinStartIdx = 4 must be less than di = 4", HasSubstr("begins at row 9")));
  EXPECT_THAT(singleShapeRules(t, {4 * 7, kK + 288, 33, 0, 5}),
              ElementsAre(HasSubstr("singleShapeK"), HasSubstr("singleShapeN"),
                          HasSubstr("begins at row 6, and singleShapeM / wi = 4 rows must end by row hi = 9")));
}

TEST(SingleShape, RulesOfAFilterGradient) {
  const FilterTiling t = smallFilterTiling();
  EXPECT_THAT(singleShapeRules(t, {48, 5 * 4 + 3, 32 * 9, 0, 0}), ElementsAre()) << "what fills no row is dropped";
  EXPECT_THAT(singleShapeRules(t, {49, 3, 289, 0, 5}),
              ElementsAre("singleCoreM = 49 must be 1 to cout1G x c0 in whole 16s = 48",
                          "singleCoreN = 289 must be 1 to cin1G x c0 x hk x wk = 288",
                          "singleCoreK = 3 must be at least one row, wo = 4", HasSubstr("hoStartIdx = 5")));
  EXPECT_THAT(singleShapeRules(t, {16, 8, 9, 0, 4}), ElementsAre(HasSubstr("2 rows must end by row ho = 5")));
}

TEST(SingleShape, WhatAnInputGradientReads) {
  const InputTiling t = smallInputTiling();
  // Rows 4 and 5: q = 3, 4, and their taps reach 3 to 6: of gradOutput rows 2 and 3. Depth 3 = 1 x 2 + tap 1.
  const PreparedShape s = workOf(t, {2 * 7, kK / 3, 16, 3, 3});
  EXPECT_EQ(s.task.start.m, 4 * 7);
  EXPECT_EQ(s.task.depth, 3);
  EXPECT_EQ(s.gradOutputBack, 2 * 4 * 16);  // the pointer is at row ceil(3 / 2)
  EXPECT_EQ(s.gradOutput.first, ((1 * 3 + 0) * 5 + 0) * 4 * 16);
  EXPECT_EQ(s.gradOutput.last, ((1 * 3 + 0) * 5 + 2) * 4 * 16 - 1);
  const std::int64_t column = 9 * 48 * 16;
  EXPECT_EQ(s.other.first, 1 * 2 * column);
  EXPECT_EQ(s.other.last, (1 * 2 + 1) * column - (48 - 16) * 16 - 1);
  InputTiling far = t;
  far.dout = 1;
  EXPECT_FALSE(workOf(far, {2 * 7, kK, 16, 3, 3}).gradOutput.any()) << "no depth meets";
  EXPECT_FALSE(workOf(far, {2 * 7, kK, 16, 3, 3}).other.any());
}

TEST(SingleShape, WhatAFilterGradientReads) {
  const FilterTiling t = smallFilterTiling();
  const PreparedShape s = workOf(t, {32, 2 * 4 + 1, 17 * 9, 0, 1});  // rows 1 and 2 of gradOutput, 1 to 5 of the input
  EXPECT_EQ(s.task.start.k, 4);
  EXPECT_EQ(s.task.extent, (Mkn{32, 8, 2 * 16 * 9}));
  EXPECT_EQ(s.gradOutputBack, 1 * 4 * 16);
  EXPECT_EQ(s.gradOutput.last, (1 * 5 + 2) * 4 * 16 - 1);
  EXPECT_EQ(s.otherBack, 1 * 7 * 16);
  EXPECT_EQ(s.other.last, (1 * 9 + 5) * 7 * 16 - 1);
  EXPECT_EQ(workOf(t, {32, 4, 9, 0, 0}).otherBack, 0) << "rows of padding are not counted";
}

TEST(SingleShape, PlacesOfBlocksAreTheDocumentedOnes) {
  const InputTiling t = smallInputTiling();
  const SingleShape s{9 * 7, kK, 20, 3, -1};
  CubeBlock b{1, 1, 32, 16, 31, 16, true};  // mIdx 1, nIdx 1
  const Placement blocked = placeOf(t, s, b, Layout::kNdc1hwc0, 0);
  EXPECT_EQ(blocked.first, 1 * 16 * 63 + (1 * 32 + 3 * 63 * 2) * 16);
  EXPECT_EQ(blocked.at(2, 5), blocked.first + 2 * 16 + 5);
  EXPECT_EQ(blocked.at(0, 16), blocked.first + 63 * 16);
  EXPECT_EQ(blocked.columns, 16) << "channels that pad the block are written";
  const Placement plain = placeOf(t, s, b, Layout::kNcdhw, 20);
  EXPECT_EQ(plain.first, 1 * 16 * 4 * 63 + 1 * 32 + 3 * 63);
  EXPECT_EQ(plain.at(2, 3), plain.first + 2 + 3 * 4 * 63);
  EXPECT_EQ(plain.columns, 4) << "NCDHW has no place for them";
  EXPECT_EQ(placeOf(t, s, b, Layout::kNcdhw, 18).columns, 2);
  EXPECT_EQ(placeOf(t, s, b, Layout::kNcdhw, 16).columns, 0);
  EXPECT_EQ(plain.last(), plain.at(30, 3));

  const FilterTiling f = smallFilterTiling();
  b = CubeBlock{1, 2, 32, 96, 16, 48, true};
  EXPECT_EQ(placeOf(f, b, false).first, 2 * 48 * 48 + 1 * 32 * 16);
  EXPECT_EQ(placeOf(f, b, false).at(3, 17), placeOf(f, b, false).first + 48 * 16 + 3 * 16 + 1);
  EXPECT_EQ(placeOf(f, b, true).first, 0);
  EXPECT_EQ(placeOf(f, b, true).at(3, 17), 32 * 16 + 3 * 16 + 1);
}

TEST(SingleShape, BlocksWithoutRowsAreSkippedWhereTheFlagSaysSo) {
  InputTiling t = smallInputTiling();
  t.hk = 1, t.strideH = 3, t.ho = 3, t.backpropPadUp = 0, t.padUp = t.padDown = 0;
  const SingleShape s{9 * 7, kK, 20, 0, 0};
  CubeBlock b;
  b.m0 = 7, b.m = 14;  // rows 1 and 2, between gradOutput's at 0 and 3
  EXPECT_FALSE(receivesNoRow(t, s, b));
  t.initOutputFlag = 1;
  EXPECT_TRUE(receivesNoRow(t, s, b));
  b.m = 15;
  EXPECT_FALSE(receivesNoRow(t, s, b));
}

TEST(SingleShape, TheCoresProblemHasTheChannelsOfTheSingleShape) {
  const GradientTypes types{Pass::kDx, DType::kBf16, DType::kBf16, Layout::kNdc1hwc0};
  const Problem p = problemOf(smallInputTiling(), types, {63, kK / 3, 4, 0, -1});
  EXPECT_EQ(p.cin, 16);
  EXPECT_EQ(p.cout, 16);
  EXPECT_EQ(p.dtype, DType::kBf16);
  GradientTypes plain = types;
  plain.resultLayout = Layout::kNcdhw;
  EXPECT_EQ(problemOf(smallInputTiling(), plain, {63, kK, 32, 0, -1}).cin, 20);
  EXPECT_EQ(mapOf(smallInputTiling(), types, TensorId::kDy).at({0, 17, 1, 2, 3}),
            (((1 * 3 + 1) * 5 + 2) * 4 + 3) * 16 + 1);
  EXPECT_EQ(mapOf(smallInputTiling(), types, TensorId::kW).at({17, 18, 1, 2, 0}),
            ((((1 * 2 + 1) * 3 + 2) * 3 + 0) * 48 + 17) * 16 + 2);
  const GradientTypes dw{Pass::kDw, DType::kF16, DType::kF32, Layout::kFractalZ3d};
  const Problem q = problemOf(smallFilterTiling(), dw, {20, 20, 9, 0, 0});
  EXPECT_EQ(q.cout, 32);
  EXPECT_EQ(q.cin, 16);
  EXPECT_EQ(q.kernel.d, 1);
  EXPECT_EQ(q.batch, 1);
}

}  // namespace
}  // namespace cubejit::ascendc
