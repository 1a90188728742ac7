// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the planner on random problems: what it picks is legal, explained, repeatable and one of few.
// Leaves whether a plan computes the right thing to the lowering and differential tests.
#include "tiling/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/text/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"

namespace cubejit {
namespace {

constexpr Pass kGradients[] = {Pass::kDx, Pass::kDw, Pass::kDb};

class Planner : public testing::TestWithParam<IsaLevel> {};

TEST_P(Planner, PicksTheCheapestLegalPlanAndExplainsTheRest) {
  const Machine machine = hostOf(GetParam());
  std::mt19937_64 random(11);
  std::size_t refusedPlans = 0;
  for (int i = 0; i < 100; ++i) {
    Problem problem = randomProblem(random);
    if (i % 4 == 0) problem.batch *= 20000;  // some of whose tiles no displacement spans
    for (const Pass pass : kGradients) {
      const auto choice = choosePlan(problem, pass, machine, true);
      ASSERT_TRUE(choice.ok()) << choice.error().message << "\n" << problemToJson(problem);
      EXPECT_EQ(choice->plan.pass, pass);
      EXPECT_TRUE(checkPlan(problem, choice->plan, machine).empty()) << problemToJson(problem);
      ASSERT_FALSE(choice->considered.empty());
      EXPECT_EQ(planToJson(choice->considered.front().plan), planToJson(choice->plan));
      bool refusedSeen = false;
      double cost = 0;
      for (const Candidate& candidate : choice->considered) {
        EXPECT_EQ(candidate.refusedBy, checkPlan(problem, candidate.plan, machine));
        if (!candidate.refusedBy.empty()) {
          refusedSeen = true;
          ++refusedPlans;
          continue;
        }
        EXPECT_FALSE(refusedSeen) << "a legal plan stands behind a refused one";
        EXPECT_GE(candidate.cost.totalCycles, cost);
        cost = candidate.cost.totalCycles;
        EXPECT_FALSE(candidate.cost.bound.empty());
      }
    }
  }
  EXPECT_GT(refusedPlans, 0U);
}

TEST_P(Planner, IsDeterministicAndExplainingChangesNothing) {
  const Machine machine = hostOf(GetParam());
  std::mt19937_64 random(12);
  for (int i = 0; i < 50; ++i) {
    const Problem problem = randomProblem(random);
    for (const Pass pass : kGradients) {
      const auto first = choosePlan(problem, pass, machine, false), again = choosePlan(problem, pass, machine, true);
      ASSERT_TRUE(first.ok() && again.ok());
      EXPECT_EQ(planToJson(first->plan), planToJson(again->plan)) << problemToJson(problem);
      EXPECT_EQ(first->cost.totalCycles, again->cost.totalCycles);
      EXPECT_TRUE(first->considered.empty());
    }
  }
}

// What planning costs is what is considered: 100 plans in the median, 2000 at most.
TEST_P(Planner, ConsidersFewPlans) {
  const Machine machine = hostOf(GetParam());
  std::mt19937_64 random(13);
  std::vector<std::size_t> considered;
  for (int i = 0; i < 60; ++i) {
    const Problem problem = randomProblem(random);
    for (const Pass pass : kGradients) {
      const auto choice = choosePlan(problem, pass, machine, true);
      ASSERT_TRUE(choice.ok());
      considered.push_back(choice->considered.size());
    }
  }
  std::sort(considered.begin(), considered.end());
  EXPECT_LE(considered[considered.size() / 2], 100U);
  EXPECT_LE(considered.back(), 2000U);
}

// Around the work that wakes another thread: plans are costed with as many threads, so that the quicker one stays the cheaper one.
TEST(PlannerOfPatches, FoldsColumnsIntoChannels) {
  Problem p;
  p.rank = 2;
  p.batch = 8;
  p.cin = 3;
  p.cout = 768;
  p.in = Dhw{1, 224, 224};
  p.out = Dhw{1, 14, 14};
  p.kernel = p.stride = Dhw{1, 16, 16};
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
      p.dtype = dtype;
      p.layout = layout;
      for (const Pass pass : {Pass::kY, Pass::kDx}) {
        const auto choice = choosePlan(p, pass, hostOf(IsaLevel::kAvx512Bf16), false);
        ASSERT_TRUE(choice);
        if (pass == Pass::kY && dtype == DType::kF32) continue;  // scalars are broadcast from anywhere
        EXPECT_TRUE(choice->plan.reorders.spaceToDepth)
            << toString(pass) << " " << toString(dtype) << " " << toString(layout);
      }
    }
  }
}

TEST(PlannerOfFarImages, AsksForTheirLines) {
  Problem p;
  p.rank = 2;
  p.batch = 2;
  p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 224, 224};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.layout = Layout::kNdhwc;
  const Machine machine = hostOf(IsaLevel::kAvx512);
  const auto far = choosePlan(p, Pass::kDx, machine, false);
  ASSERT_TRUE(far);
  EXPECT_EQ(fieldOf(far->plan, "prefetch"), static_cast<int>(Prefetch::kOperands));
  p.in = p.out = Dhw{1, 28, 28};
  const auto near = choosePlan(p, Pass::kDx, machine, false);
  ASSERT_TRUE(near);
  EXPECT_EQ(fieldOf(near->plan, "prefetch"), static_cast<int>(Prefetch::kUsual));
}

TEST(PlannerOfOddChannels, PairsThemUnlessTheyAreVeryFew) {
  Problem p;
  p.rank = 2;
  p.batch = 2;
  p.cin = 256;
  p.cout = 255;
  p.in = p.out = Dhw{1, 52, 52};
  p.layout = Layout::kNdhwc;
  p.dtype = DType::kBf16;
  const auto choice = choosePlan(p, Pass::kDx, hostOf(IsaLevel::kAvx512Bf16), false);
  ASSERT_TRUE(choice);
  EXPECT_EQ(fieldOf(choice->plan, "dot_products"), 1);
}

TEST(PlannerOfSmallProblems, TakesDotProductsAtEverySize) {
  const Machine machine = hostOf(IsaLevel::kAvx512Bf16);
  for (std::int64_t batch = 1; batch <= 64; batch *= 2) {
    Problem p;
    p.rank = 2;
    p.batch = batch;
    p.cin = p.cout = 16;
    p.in = p.out = Dhw{1, 8, 8};
    p.kernel = Dhw{1, 3, 3};
    p.padBefore = p.padAfter = Dhw{0, 1, 1};
    p.layout = Layout::kNdhwc;
    p.dtype = DType::kBf16;
    const auto choice = choosePlan(p, Pass::kDx, machine, false);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    EXPECT_EQ(fieldOf(choice->plan, "dot_products"), 1) << batch;
    EXPECT_FALSE(choice->plan.reorders.dy) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Planner, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512),
                         [](const auto& info) { return toString(info.param); });

// Blocks of 16 channels are vectors: a layer of one tap neither copies nor converts them. Blocks of 8 are half vectors.
TEST(PlannerOfBlocks, BlocksOfWholeVectorsNeedNoPanels) {
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  const auto planOf = [&](Pass pass, DType dtype, std::int64_t c0) {
    Problem p = pointwise(256, 64, 28);
    p.dtype = dtype;
    for (const TensorId t : {TensorId::kX, TensorId::kDy, TensorId::kDx})
      p.formats[static_cast<std::size_t>(t)] = TensorFormat{dtype, Layout::kNdc1hwc0, {}, c0};
    TilingPlan plan = choosePlan(p, pass, machine, false)->plan;
    EXPECT_FALSE(plan.reorders.any());
    return plan;
  };
  const TilingPlan dx = planOf(Pass::kDx, DType::kF32, 16), dw = planOf(Pass::kDw, DType::kF32, 16);
  EXPECT_EQ(fieldOf(dx, "pack_a") + fieldOf(dx, "buffer_c"), 0);
  EXPECT_EQ(fieldOf(dw, "pack_a") + fieldOf(dw, "pack_b"), 0);
  EXPECT_EQ(16 % fieldOf(dw, "register_rows"), 0);
  const TilingPlan halves = planOf(Pass::kDx, DType::kF32, 8);
  EXPECT_EQ(fieldOf(halves, "pack_a"), 0);
  EXPECT_EQ(fieldOf(halves, "buffer_c"), 1);
  const TilingPlan f16 = planOf(Pass::kDx, DType::kF16, 16);  // what is broadcast is f32
  EXPECT_EQ(fieldOf(f16, "pack_a"), 1);
  EXPECT_EQ(fieldOf(f16, "buffer_c"), 0);
}

}  // namespace
}  // namespace cubejit
