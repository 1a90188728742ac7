// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that y and data gradients on a matrix unit are exact: 1D to 3D, strides, dilation, groups, transposed, tails of pixels and channels, every
// layout, 1 and 2 threads (bit-identical), by code and by both interpreters; and which plans there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/tiles.h"
#include "tests/support/tile_plans.h"

namespace cubejit {
namespace {

using testing::Contains;
using testing::HasSubstr;

const RandomPlans<DirectDataPlan> kTilePlans{
    .random = RandomConvolution(21),
    .problem =
        [](RandomConvolution& random, int i) {
          Problem problem = inAnyLayout(random, i);
          if (random.below(16) > 0) return problem;
          problem.cin =
              problem.groups * (30 + random.below(60));  // several products of a tap, some with zeros behind them
          problem.cout = problem.groups * (30 + random.below(60));
          return problem;
        },
    .candidates = [](const Problem& problem,
                     const Machine& machine) { return inTiles(directDataCandidates(problem, machine)); },
    .plan = [](const Problem&, DirectDataPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
      if (plan.registerH == 1 && random.below(2) == 0)
        plan.registerW = 1 + random.below(plan.registerVectors > 1 ? 32 : 48);
      if (plan.registerH > 1 && random.below(2) == 0) plan.cache.h = plan.registerH * (1 + random.below(3));
      return plan;
    },
    .most = 2};

TEST(TilePlans, AllPlansAreRight) { expectTilePlansAreRight(kTilePlans); }

TEST(TilePlans, InterpretersAgree) { expectInterpretersOfTilesAgree(kTilePlans); }

TEST(TilePlans, ProductsOfASumAreAlike) {
  const std::int64_t pairs[] = {1, 3, 16, 20, 32, 36, 96, 17, 34, 19}, each[] = {1, 3, 16, 10, 16, 12, 16, 9, 12, 10},
                     zeros[] = {0, 0, 0, 0, 0, 0, 0, 1, 2, 1};
  for (std::size_t i = 0; i < std::size(pairs); ++i) {
    EXPECT_EQ(PairProducts(pairs[i]).each, each[i]) << pairs[i];
    EXPECT_EQ(PairProducts(pairs[i]).zeros, zeros[i]) << pairs[i];
  }
}

TEST(TilePlans, DenseLayersTakeThemAndSmallOnesDoNot) { expectDenseLayersInTiles(Pass::kDx); }

TEST(TilePlans, SmallImagesHaveSeveralRowsInATile) {
  const auto rows = [](std::int64_t side) {
    Problem images = tileLayer(512, side);
    images.batch = 32;
    EXPECT_EQ(chosenField(images, Pass::kDx, kTileLevel, "matrix_unit"), 1) << side;
    return chosenField(images, Pass::kDx, kTileLevel, "register_h");
  };
  EXPECT_EQ(rows(4), 4) << "22 pixels with the zeros between them: two tiles";
  EXPECT_GT(rows(7), 1);
  EXPECT_EQ(rows(56), 1);
}

TEST(TilePlans, EveryBrokenRuleIsNamed) {
  TilingPlan plan = choosePlan(tileLayer(64, 56), Pass::kDx, hostOf(kTileLevel), false)->plan;
  DirectDataPlan& direct = plan.as<DirectDataPlan>();
  const auto broken = [&](IsaLevel level) { return checkPlan(tileLayer(64, 56), plan, hostOf(level)); };
  ASSERT_TRUE(broken(kTileLevel).empty());
  EXPECT_THAT(broken(IsaLevel::kAvx512Bf16), Contains(HasSubstr("avx512_bf16 multiplies no pairs of bf16 in tiles")));
  direct.packA = false;
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("pack_a must be true: taps reach 2 columns of zeros beside dy")));
  direct.registerH = 2;
  EXPECT_THAT(broken(kTileLevel),
              Contains(HasSubstr("register_h must be 1: tiles have pixels of several rows only of whole")));
  direct.registerW = 56;
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("takes more than 8 tiles with its operands")));
  direct.unroll = 2;
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("unroll 4")));
  EXPECT_THAT(checkPlan(tileLayer(34, 56), plan, hostOf(kTileLevel)),
              Contains(HasSubstr("products 1 pairs behind its channels, which only a panel has")));
}

}  // namespace
}  // namespace cubejit
