// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that y and data gradients on a matrix unit are exact: 1D to 3D, strides, dilation, groups, transposed, tails of pixels and channels, every
// layout, 1 and 2 threads (bit-identical), by code and by both interpreters; and which plans there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/tiles.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr IsaLevel kLevel = IsaLevel::kAvx512Amx;

const RandomPlans<DirectDataPlan> kTilePlans{
    .random = RandomConvolution(21),
    .problem = inAnyLayout,
    .candidates =
        [](const Problem& problem, const Machine& machine) {
          std::vector<DirectDataPlan> plans = directDataCandidates(problem, machine);
          std::erase_if(plans, [](const DirectDataPlan& plan) { return !plan.matrixUnit; });
          return plans;
        },
    .plan = [](const Problem&, DirectDataPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
      if (plan.registerH == 1 && random.below(2) == 0)
        plan.registerW = 1 + random.below(plan.registerVectors > 1 ? 32 : 48);
      if (plan.registerH > 1 && random.below(2) == 0) plan.cache.h = plan.registerH * (1 + random.below(3));
      return plan;
    },
    .most = 2};

TEST(TilePlans, AllPlansAreRight) {
  if (!hostRuns(kLevel)) GTEST_SKIP() << "neither AMX nor AVX512-BF16 to imitate it with";
  EXPECT_GT(verifyPlans(kTilePlans, {kLevel, DType::kBf16, kUsualBackend}, 700).size(), 900U);
  EXPECT_GT(verifyPlans(kTilePlans, {IsaLevel::kAvx512AmxFp16, DType::kF16, kUsualBackend}, 350).size(), 400U);
  EXPECT_EQ(takeTileFaults(), "");
}

TEST(TilePlans, InterpretersAgree) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    SCOPED_TRACE(toString(backend));
    EXPECT_GT(verifyPlans(kTilePlans, {kLevel, DType::kBf16, backend}, 30).size(), 40U);
  }
}

TEST(TilePlans, ProductsOfASumAreAlike) {
  const std::int64_t pairs[] = {1, 3, 16, 20, 24, 32, 36, 48, 64, 96, 17, 34, 19};
  const std::int64_t want[] = {1, 3, 16, 10, 12, 16, 12, 16, 16, 16, 0, 0, 0};
  for (std::size_t i = 0; i < std::size(pairs); ++i) EXPECT_EQ(pairsOfProduct(pairs[i]), want[i]) << pairs[i];
}

Problem layer(std::int64_t channels, std::int64_t side) {
  Problem p;
  p.rank = 2;
  p.cin = p.cout = channels;
  p.in = p.out = Dhw{1, side, side};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.layout = Layout::kNdhwc;
  p.dtype = DType::kBf16;
  return p;
}

Problem manyImages(std::int64_t channels, std::int64_t side) {
  Problem p = layer(channels, side);
  p.batch = 32;
  return p;
}

int usesTiles(const Problem& problem, IsaLevel level) {
  const auto choice = choosePlan(problem, Pass::kDx, hostOf(level), false);
  return choice.ok() ? fieldOf(choice->plan, "matrix_unit") : -2;
}

TEST(TilePlans, DenseLayersTakeThemAndSmallOnesDoNot) {
  EXPECT_EQ(usesTiles(layer(64, 56), kLevel), 1);
  EXPECT_EQ(usesTiles(layer(256, 14), kLevel), 1);
  EXPECT_EQ(usesTiles(layer(8, 4), kLevel), 0);
  EXPECT_EQ(usesTiles(layer(64, 56), IsaLevel::kAvx512Bf16), 0);
  Problem f32 = layer(64, 56);
  f32.dtype = DType::kF32;
  EXPECT_EQ(usesTiles(f32, kLevel), 0);
  Problem f16 = layer(64, 56);
  f16.dtype = DType::kF16;
  EXPECT_EQ(usesTiles(f16, kLevel), 0) << "no products of f16";
  EXPECT_EQ(usesTiles(f16, IsaLevel::kAvx512AmxFp16), 1);
}

TEST(TilePlans, SmallImagesHaveSeveralRowsInATile) {
  const auto rows = [](std::int64_t side) {
    const auto choice = choosePlan(manyImages(512, side), Pass::kDx, hostOf(kLevel), false);
    return choice.ok() && fieldOf(choice->plan, "matrix_unit") == 1 ? fieldOf(choice->plan, "register_h") : -1;
  };
  EXPECT_EQ(rows(4), 4) << "22 pixels with the zeros between them: two tiles";
  EXPECT_GT(rows(7), 1);
  EXPECT_EQ(rows(56), 1);
}

TEST(TilePlans, EveryBrokenRuleIsNamed) {
  TilingPlan plan = choosePlan(layer(64, 56), Pass::kDx, hostOf(kLevel), false)->plan;
  DirectDataPlan& direct = plan.as<DirectDataPlan>();
  const auto broken = [&](IsaLevel level) { return checkPlan(layer(64, 56), plan, hostOf(level)); };
  ASSERT_TRUE(broken(kLevel).empty());
  EXPECT_THAT(broken(IsaLevel::kAvx512Bf16), Contains(HasSubstr("avx512_bf16 multiplies no pairs of bf16 in tiles")));
  direct.packA = false;
  EXPECT_THAT(broken(kLevel), Contains(HasSubstr("pack_a must be true: taps reach 2 columns of zeros beside dy")));
  direct.registerH = 2;
  EXPECT_THAT(broken(kLevel),
              Contains(HasSubstr("register_h must be 1: tiles have pixels of several rows only of whole")));
  direct.registerW = 56;
  EXPECT_THAT(broken(kLevel), Contains(HasSubstr("takes more than 8 tiles with its operands")));
  direct.unroll = 2;
  EXPECT_THAT(broken(kLevel), Contains(HasSubstr("unroll 4")));
  EXPECT_THAT(checkPlan(layer(34, 56), plan, hostOf(kLevel)), Contains(HasSubstr("17 pairs of channels")));
}

}  // namespace
}  // namespace cubejit
