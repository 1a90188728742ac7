// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the shared view of ordinary, transposed and pointwise problems.
#include "algorithms/kit/conv_view.h"

#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace cubejit {
namespace {

Problem strided(Layout layout) {
  return ofGroups(2, inLayout(layout, planeProblem(2, 4, 6, {1, 5, 7}, {1, 3, 3}, {0, 0, 0}, {1, 2, 2})));
}

TEST(ConvView, StridesFollowTheLayout) {
  const ConvView last = makeConvView(strided(Layout::kNdhwc), Pass::kDx),
                 plain = makeConvView(strided(Layout::kNcdhw), Pass::kDx);
  EXPECT_TRUE(last.bigIsX);
  EXPECT_EQ(last.big.channels, 2);
  EXPECT_EQ(last.big.cStride, 4);
  EXPECT_EQ(last.big.wStride, 16);
  EXPECT_EQ(last.big.hStride, 112);
  EXPECT_EQ(last.big.nStride, 560);
  EXPECT_EQ(plain.big.cStride, 140);
  EXPECT_EQ(plain.big.wStride, 4);
  EXPECT_EQ(plain.big.groupStride(), 280);
  EXPECT_EQ(plain.small.bytes, 2 * 6 * 6 * 4);
}

TEST(ConvView, AroundOnePositionEveryOrderIsChannelsLast) {
  Problem p = strided(Layout::kNcdhw);
  p.out = Dhw{1, 1, 1};
  p.in = p.kernel = Dhw{1, 3, 3};
  const ConvView v = makeConvView(p, Pass::kDw);
  EXPECT_TRUE(v.small.channelsLast);
  EXPECT_EQ(v.small.cStride, 4);
  EXPECT_EQ(v.small.nStride, 24);
  EXPECT_FALSE(v.big.channelsLast);
  p.layout = Layout::kNdc1hwc0;  // blocks of 8 channels, the last of which has gaps
  EXPECT_EQ(makeConvView(p, Pass::kDw).small.c0, 8);
  p.groups = 1;
  p.cout = 16;
  const ConvView blocked = makeConvView(p, Pass::kDw);
  EXPECT_EQ(blocked.small.c0, 0);
  EXPECT_TRUE(blocked.small.channelsLast);
  EXPECT_EQ(blocked.small.nStride, 64);
}

TEST(ConvView, TransposedSwapsTheTensors) {
  Problem p = strided(Layout::kNdhwc);
  p.transposed = true;
  std::swap(p.in, p.out);
  const ConvView v = makeConvView(p, Pass::kDx);
  EXPECT_FALSE(v.bigIsX);
  EXPECT_EQ(v.big.extent, (Dhw{1, 5, 7}));
  EXPECT_EQ(v.small.channels, 2);
  EXPECT_EQ(v.big.channels, 3);
}

TEST(ConvView, PointwiseProblemsAreLines) {
  Problem p = strided(Layout::kNdhwc);
  p.kernel = p.stride = Dhw{1, 1, 1};
  p.out = p.in;
  const ConvView last = makeConvView(p, Pass::kDx);
  EXPECT_TRUE(last.oneAxis);
  EXPECT_EQ(last.batch, 1);
  EXPECT_EQ(last.big.extent, (Dhw{1, 1, 70}));
  EXPECT_EQ(makeConvView(p, Pass::kDx, OneAxis::kOnH).big.extent, (Dhw{1, 70, 1}));
  p.layout = Layout::kNcdhw;
  EXPECT_EQ(makeConvView(p, Pass::kDx).batch, 2);
  EXPECT_EQ(makeConvView(p, Pass::kDx).small.extent, (Dhw{1, 1, 35}));
}

TEST(ConvView, LongPlainLinesAreCutIntoEqualRows) {
  Problem p = strided(Layout::kNcdhw);
  p.kernel = p.stride = Dhw{1, 1, 1};
  p.in = p.out = Dhw{8, 40, 48};
  const ConvView rows = makeConvView(p, Pass::kDx, OneAxis::kInRows);
  EXPECT_FALSE(rows.oneAxis);
  EXPECT_EQ(rows.small.extent, (Dhw{1, 3, 5120}));
  EXPECT_EQ(rows.small.hStride, 5120 * 4);
  EXPECT_EQ(rows.small.cStride, 15360 * 4);
  p.in = p.out = Dhw{1, 60, 70};
  EXPECT_TRUE(makeConvView(p, Pass::kDx, OneAxis::kInRows).oneAxis);
}

TEST(ConvView, StepsNeverTakenCountAsOne) {
  Problem p = strided(Layout::kNdhwc);
  p.stride.d = p.dilation.d = std::int64_t{1} << 60;
  EXPECT_EQ(makeConvView(p, Pass::kDx).stride, (Dhw{1, 2, 2}));
  EXPECT_EQ(makeConvView(p, Pass::kDx).dilation, (Dhw{1, 1, 1}));
}

void putInBlocks(Problem& p, DType dtype, std::int64_t c0) {
  for (const TensorId t : {TensorId::kX, TensorId::kDy, TensorId::kDx})
    p.formats[static_cast<std::size_t>(t)] = TensorFormat{dtype, Layout::kNdc1hwc0, {}, c0};
}

TEST(ConvView, BlocksOfWholeVectorsAreUsedInPlace) {
  Problem p = strided(Layout::kNdc1hwc0);
  p.groups = 1;
  p.cin = 48;
  p.cout = 24;
  putInBlocks(p, DType::kF32, 16);
  const ConvView v = makeConvView(p, Pass::kDx);
  EXPECT_EQ(v.big.channelOffset(35), 2 * v.big.blockStride + 3 * 4);
  EXPECT_TRUE(v.big.vectorsInPlace(16, 48));
  EXPECT_TRUE(v.big.vectorsInPlace(8, 8));
  EXPECT_FALSE(v.big.vectorsInPlace(8, 24));  // the second tile begins inside a block
  EXPECT_FALSE(v.big.vectorsInPlace(32, 32));
  EXPECT_TRUE(v.big.scalarsInPlace(8));
  EXPECT_TRUE(v.big.scalarsInPlace(32));
  EXPECT_FALSE(v.big.scalarsInPlace(14));
  EXPECT_TRUE(v.big.resultsInPlace(16, 32));
  EXPECT_FALSE(v.small.resultsInPlace(16, 16));  // 24 channels leave half a block
  EXPECT_TRUE(v.small.sumsInPlace(false, 8));
  EXPECT_FALSE(v.small.sumsInPlace(false, 12));
  putInBlocks(p, DType::kBf16, 16);
  const ConvView halves = makeConvView(p, Pass::kDx);
  EXPECT_TRUE(halves.small.sumsInPlace(true, 8));
  EXPECT_FALSE(halves.small.sumsInPlace(true, 16));  // pairs: eight of them are a block
  EXPECT_FALSE(halves.small.sumsInPlace(false, 8));
  EXPECT_FALSE(halves.big.scalarsInPlace(8));
  EXPECT_TRUE(halves.big.vectorsInPlace(16, 32));
}

TEST(ConvView, TilesOfFarBlocksAreNotReachedInPlace) {
  Problem p = strided(Layout::kNdc1hwc0);
  p.groups = 1;
  p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 4096, 4096};
  p.kernel = p.stride = Dhw{1, 1, 1};
  putInBlocks(p, DType::kF32, 16);
  const ConvView v = makeConvView(p, Pass::kDw);
  EXPECT_TRUE(v.big.vectorsInPlace(16, 16));
  EXPECT_FALSE(v.big.vectorsInPlace(16, 32));
}

}  // namespace
}  // namespace cubejit
