// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients on a matrix unit are exact: 1D to 3D, strides, dilation, groups, transposed, tails of pixels and channels, every
// layout, 1 and 2 threads (bit-identical), by code and by both interpreters; and which plans there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/direct_weights/flat_rows.h"
#include "tests/support/tile_plans.h"

namespace cubejit {
namespace {

using testing::Contains;
using testing::HasSubstr;

const RandomPlans<DirectWeightsPlan> kWeightTilePlans{
    .random = RandomConvolution(22),
    .problem = inAnyLayout,
    .candidates = [](const Problem& problem,
                     const Machine& machine) { return inTiles(directWeightsCandidates(problem, machine)); },
    .plan = [](const Problem& problem, DirectWeightsPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
      if (random.below(2) == 0) plan.registerRows = 1 + random.below(plan.registerVectors > 1 ? 32 : 48);
      const Dhw& e = makeConvView(problem, Pass::kDw).small.extent;
      if (random.below(3) == 0 && !makeConvView(problem, Pass::kDw).oneAxis) {
        plan.reduction = {1, 1, 1 + random.below(e.h)};
        plan.reductionParts = 1;
      }
      return plan;
    },
    .most = 2};

TEST(WeightTilePlans, AllPlansAreRight) { expectTilePlansAreRight(kWeightTilePlans); }

TEST(WeightTilePlans, InterpretersAgree) { expectInterpretersOfTilesAgree(kWeightTilePlans); }

TEST(WeightTilePlans, RowsFollowEachOtherWithAsFewZerosAsTapsNeed) {
  const auto pitch = [](std::int64_t side) { return flatRowPitch(makeConvView(tileLayer(16, side), Pass::kDw)); };
  EXPECT_EQ(pitch(7), 8);
  EXPECT_EQ(pitch(14), 16);
  EXPECT_EQ(pitch(56), 58);
  const PairProducts small = flatProducts(makeConvView(tileLayer(16, 7), Pass::kDw), 7, 7);
  EXPECT_EQ(small.count, 2) << "28 pairs, where row by row it were 7 products of 4";
  EXPECT_EQ(small.each, 14);
}

TEST(WeightTilePlans, DenseLayersTakeThemAndSmallOnesDoNot) { expectDenseLayersInTiles(Pass::kDw); }

TEST(WeightTilePlans, EveryBrokenRuleIsNamed) {
  Problem problem = tileLayer(64, 56);
  TilingPlan plan = choosePlan(problem, Pass::kDw, hostOf(kTileLevel), false)->plan;
  DirectWeightsPlan& direct = plan.as<DirectWeightsPlan>();
  const auto broken = [&](IsaLevel level) { return checkPlan(problem, plan, hostOf(level)); };
  ASSERT_TRUE(broken(kTileLevel).empty());
  EXPECT_THAT(broken(IsaLevel::kAvx512Bf16), Contains(HasSubstr("avx512_bf16 multiplies no pairs of bf16 in tiles")));
  direct.packA = false;
  EXPECT_THAT(broken(kTileLevel),
              Contains(HasSubstr("matrix_unit needs vectorize = transposed, dot_products, pack_a")));
  direct.registerRows = 64;
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("64 rows x 2 vectors takes more than 8 tiles")));
  direct.unroll = 2;
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("unroll 4")));
  problem.batch = 64;
  direct.reduction = {64, 1, 56};
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("products of tiles, more than 512 in a row")));
  problem.stride = {1, 1, 2};
  problem.out.w = 28;
  problem.layout = Layout::kNcdhw;
  EXPECT_THAT(broken(kTileLevel), Contains(HasSubstr("columns of x, which is plain, lie 2 apart")));
}

}  // namespace
}  // namespace cubejit
