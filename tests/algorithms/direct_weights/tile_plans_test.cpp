// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients on a matrix unit are exact: 1D to 3D, strides, dilation, groups, transposed, tails of pixels and channels, every
// layout, 1 and 2 threads (bit-identical), by code and by both interpreters; and which plans there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/direct_weights/flat_rows.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr IsaLevel kDwLevel = IsaLevel::kAvx512Amx;

const RandomPlans<DirectWeightsPlan> kWeightTilePlans{
    .random = RandomConvolution(22),
    .problem = inAnyLayout,
    .candidates =
        [](const Problem& problem, const Machine& machine) {
          std::vector<DirectWeightsPlan> plans = directWeightsCandidates(problem, machine);
          std::erase_if(plans, [](const DirectWeightsPlan& plan) { return !plan.matrixUnit; });
          return plans;
        },
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

TEST(WeightTilePlans, AllPlansAreRight) {
  if (!hostRuns(kDwLevel)) GTEST_SKIP() << "neither AMX nor AVX512-BF16 to imitate it with";
  EXPECT_GT(verifyPlans(kWeightTilePlans, {kDwLevel, DType::kBf16, kUsualBackend}, 700).size(), 900U);
  EXPECT_GT(verifyPlans(kWeightTilePlans, {IsaLevel::kAvx512AmxFp16, DType::kF16, kUsualBackend}, 350).size(), 400U);
  EXPECT_EQ(takeTileFaults(), "");
}

TEST(WeightTilePlans, InterpretersAgree) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    SCOPED_TRACE(toString(backend));
    EXPECT_GT(verifyPlans(kWeightTilePlans, {kDwLevel, DType::kBf16, backend}, 30).size(), 40U);
  }
}

Problem weightLayer(std::int64_t channels, std::int64_t side) {
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

TEST(WeightTilePlans, RowsFollowEachOtherWithAsFewZerosAsTapsNeed) {
  const auto pitch = [](std::int64_t side) { return flatRowPitch(makeConvView(weightLayer(16, side), Pass::kDw)); };
  EXPECT_EQ(pitch(7), 8);
  EXPECT_EQ(pitch(14), 16);
  EXPECT_EQ(pitch(56), 58);
  const FlatProducts small = flatProducts(makeConvView(weightLayer(16, 7), Pass::kDw), 7, 7);
  EXPECT_EQ(small.count, 2) << "28 pairs, where row by row it were 7 products of 4";
  EXPECT_EQ(small.pairs, 14);
}

int weightsInTiles(const Problem& problem, IsaLevel level) {
  const auto choice = choosePlan(problem, Pass::kDw, hostOf(level), false);
  return choice.ok() ? fieldOf(choice->plan, "matrix_unit") : -2;
}

TEST(WeightTilePlans, DenseLayersTakeThemAndSmallOnesDoNot) {
  EXPECT_EQ(weightsInTiles(weightLayer(64, 56), kDwLevel), 1);
  EXPECT_EQ(weightsInTiles(weightLayer(256, 14), kDwLevel), 1);
  EXPECT_EQ(weightsInTiles(weightLayer(8, 4), kDwLevel), 0);
  EXPECT_EQ(weightsInTiles(weightLayer(64, 56), IsaLevel::kAvx512Bf16), 0);
  Problem f16 = weightLayer(64, 56);
  f16.dtype = DType::kF16;
  EXPECT_NE(weightsInTiles(f16, kDwLevel), 1) << "no products of f16";
  EXPECT_EQ(weightsInTiles(f16, IsaLevel::kAvx512AmxFp16), 1);
}

TEST(WeightTilePlans, EveryBrokenRuleIsNamed) {
  Problem problem = weightLayer(64, 56);
  TilingPlan plan = choosePlan(problem, Pass::kDw, hostOf(kDwLevel), false)->plan;
  DirectWeightsPlan& direct = plan.as<DirectWeightsPlan>();
  const auto broken = [&](IsaLevel level) { return checkPlan(problem, plan, hostOf(level)); };
  ASSERT_TRUE(broken(kDwLevel).empty());
  EXPECT_THAT(broken(IsaLevel::kAvx512Bf16), Contains(HasSubstr("avx512_bf16 multiplies no pairs of bf16 in tiles")));
  direct.packA = false;
  EXPECT_THAT(broken(kDwLevel), Contains(HasSubstr("matrix_unit needs vectorize = transposed, dot_products, pack_a")));
  direct.registerRows = 64;
  EXPECT_THAT(broken(kDwLevel), Contains(HasSubstr("64 rows x 2 vectors takes more than 8 tiles")));
  direct.unroll = 2;
  EXPECT_THAT(broken(kDwLevel), Contains(HasSubstr("unroll 4")));
  problem.batch = 64;
  direct.reduction = {64, 1, 56};
  EXPECT_THAT(broken(kDwLevel), Contains(HasSubstr("products of tiles, more than 512 in a row")));
  problem.stride = {1, 1, 2};
  problem.out.w = 28;
  problem.layout = Layout::kNcdhw;
  EXPECT_THAT(broken(kDwLevel), Contains(HasSubstr("columns of x, which is plain, lie 2 apart")));
}

}  // namespace
}  // namespace cubejit
