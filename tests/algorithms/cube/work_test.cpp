// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the matrix view of gradients: extents as documented, and depths that meet as counted one by one.
#include "algorithms/cube/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cubejit/machines.h"
#include "cubejit/machines/toy.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

Problem network() {  // a video tokeniser's layer
  return ofType(DType::kF16, problemOf(1, 256, 128, {11, 128, 130}, {3, 3, 3}, {0, 1, 0}));
}

TEST(CubeWork, DataGradientIsPixelsByChannels) {
  const CubeWork w = cubeWorkOf(network(), Pass::kDx, toyMachine());
  EXPECT_EQ(w.gemm, (Mkn{128 * 130, 128 * 9, 256}));
  EXPECT_EQ(w.blockUnit(), 9 * 16);
  EXPECT_EQ(w.row(), 130);
  EXPECT_EQ(w.depths, 11);
  EXPECT_TRUE(w.spread);
  EXPECT_EQ(w.resultBytes, 2);
  EXPECT_THAT(w.depthKinds.meets, testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(w.depthKinds.counts, testing::ElementsAre(2, 2, 7));
}

TEST(CubeWork, WeightGradientIsChannelsByTaps) {
  const CubeWork w = cubeWorkOf(network(), Pass::kDw, toyMachine());
  EXPECT_EQ(w.gemm, (Mkn{128, 128 * 128, 256 * 9}));
  EXPECT_EQ(w.depths, 9 * 3);
  EXPECT_EQ(w.row(), 128);
  EXPECT_EQ(w.resultBytes, 4);
  EXPECT_THAT(w.depthKinds.meets, testing::ElementsAre(1));
}

TEST(CubeWork, ChannelsArePaddedToBlocksOfTheType) {
  Problem p = network();
  p.cin = 3, p.cout = 17;
  EXPECT_EQ(cubeWorkOf(p, Pass::kDx, toyMachine()).gemm, (Mkn{128 * 130, 32 * 9, 16}));
  EXPECT_EQ(cubeWorkOf(p, Pass::kDw, toyMachine()).gemm, (Mkn{32, 128 * 128, 16 * 9}));
  p.dtype = DType::kF32;
  EXPECT_EQ(cubeWorkOf(p, Pass::kDx, toyMachine()).gemm, (Mkn{128 * 130, 24 * 9, 8}));
  EXPECT_EQ(cubeWorkOf(p, Pass::kDw, toyMachine()).gemm, (Mkn{32, 128 * 128, 8 * 9}));
}

TEST(CubeWork, SmallGroupsShareARealGroup) {
  Problem p = network();
  p.cin = p.cout = p.groups = 20;
  const CubeWork w = cubeWorkOf(p, Pass::kDx, toyMachine());
  EXPECT_EQ(w.groups.count, 2);
  EXPECT_EQ(w.groups.together, 16);
  EXPECT_EQ(w.gemm.n, 16);
  EXPECT_EQ(w.gemm.k, 16 * 9);
}

TEST(CubeWork, TransposedDataGradientReadsTheImageWithItsStride) {
  Problem p;
  p.batch = 1, p.cin = 32, p.cout = 48;
  p.in = Dhw{1, 5, 5}, p.kernel = Dhw{1, 3, 3}, p.stride = Dhw{1, 2, 2}, p.out = Dhw{1, 11, 11};
  p.transposed = true;
  p.dtype = DType::kF16;
  const CubeWork w = cubeWorkOf(p, Pass::kDx, toyMachine());
  EXPECT_FALSE(w.spread);
  EXPECT_EQ(w.gemm, (Mkn{25, 48 * 9, 32}));
  EXPECT_EQ(w.image, (Dhw{1, 11, 11}));
}

TEST(CubeWork, Hf32HasTheChipsWidth) {
  Problem p = network();
  p.dtype = DType::kHf32;
  EXPECT_EQ(cubeWorkOf(p, Pass::kDx, *machineByName("ascend950pr_9599")).type, DType::kHf32Low);
  EXPECT_EQ(cubeWorkOf(p, Pass::kDx, *machineByName("ascend910b2")).type, DType::kHf32);
}

TEST(CubeWork, DepthsThatMeetAreCountedAsOneByOne) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    Problem p = randomProblem(random);
    if (p.batch == 0) continue;
    p.dtype = DType::kF16;
    const CubeWork dx = cubeWorkOf(p, Pass::kDx, toyMachine()), dw = cubeWorkOf(p, Pass::kDw, toyMachine());
    const Dhw big = p.transposed ? p.out : p.in, small = p.transposed ? p.in : p.out;
    std::vector<std::int64_t> ofBig(static_cast<std::size_t>(big.d)), ofSmall(static_cast<std::size_t>(small.d));
    std::int64_t pairs = 0;
    for (std::int64_t o = 0; o < small.d; ++o) {
      for (std::int64_t k = 0; k < p.kernel.d; ++k) {
        const std::int64_t at = o * p.stride.d + k * p.dilation.d - p.padBefore.d;
        if (at < 0 || at >= big.d) continue;
        ++pairs, ++ofSmall[static_cast<std::size_t>(o)], ++ofBig[static_cast<std::size_t>(at)];
      }
    }
    const std::vector<std::int64_t>& expected = p.transposed ? ofSmall : ofBig;
    ASSERT_EQ(dx.depthKinds.kindOf.size(), expected.size());
    for (std::size_t d = 0; d < expected.size(); ++d)
      ASSERT_EQ(dx.depthKinds.meets[dx.depthKinds.kindOf[d]], expected[d]) << d;
    std::int64_t met = 0;
    for (const std::uint8_t kind : dw.depthKinds.kindOf) met += dw.depthKinds.meets[kind];
    ASSERT_EQ(met, pairs);
  }
}

TEST(CubeWork, ManyKindsOfDepthsShareAndNoneIsCheaperThanItIs) {
  Problem p = network();
  p.kernel.d = 20, p.in.d = 40, p.out.d = 21;
  const CubeWork w = cubeWorkOf(p, Pass::kDx, toyMachine());
  EXPECT_LE(w.depthKinds.meets.size(), DepthKinds::kMost);
  for (std::int64_t d = 0; d < 40; ++d) {
    const std::int64_t meets = std::min({d + 1, 40 - d, std::int64_t{20}});
    EXPECT_GE(w.depthKinds.meets[w.depthKinds.kindOf[static_cast<std::size_t>(d)]], meets);
  }
  p.in.d = 1'000'000, p.out.d = p.in.d - 19;
  EXPECT_THAT(cubeWorkOf(p, Pass::kDx, toyMachine()).depthKinds.meets, testing::ElementsAre(20));
}

}  // namespace
}  // namespace cubejit
