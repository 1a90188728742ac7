// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which problems have Winograd plans, that all of them are legal, and that what is not is refused with its rule.
#include "algorithms/winograd/winograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem threeTaps(std::int64_t channels = 64) {
  Problem p = problemOf(2, channels, channels, {1, 20, 22}, {1, 3, 3}, {0, 1, 1});
  p.math = MathMode::kRelaxed;
  return p;
}

Machine smallHostOf(IsaLevel level) {
  Machine machine;
  machine.cores = 2;
  machine.isa = isaOf(level);
  machine.buffers = Buffers{32 << 10, 32 << 10, 2048, 1 << 20, 32 << 20};
  return machine;
}

TEST(WinogradCandidates, AreLegalOnEveryIsa) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kNeon}) {
    const Machine machine = smallHostOf(level);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      for (const std::int64_t channels : {1, 20, 64, 80}) {
        const Problem p = threeTaps(channels);
        const std::vector<TilingPlan> plans = proposedPlans("winograd", p, pass, machine);
        EXPECT_FALSE(plans.empty());
        for (const TilingPlan& plan : plans) {
          EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
          EXPECT_GT(planCost(p, plan, machine).totalCycles, 0);
        }
      }
    }
  }
}

TEST(WinogradCandidates, NeverWithoutRelaxedMath) {
  const Machine machine = smallHostOf(IsaLevel::kAvx512);
  Problem p = threeTaps();
  const WinogradDataPlan plan = winogradDataCandidates(p, machine).front();
  p.math = MathMode::kStrict;
  EXPECT_TRUE(winogradDataCandidates(p, machine).empty());
  EXPECT_THAT(checkPlan(p, plan, machine), testing::ElementsAre(testing::HasSubstr("needs math = relaxed")));
  const auto choice = choosePlan(p, Pass::kDx, machine, false);
  ASSERT_TRUE(choice.ok());
  EXPECT_STRNE(algorithmName(choice->plan), "winograd");
}

TEST(WinogradCandidates, AreChosenWhereTheyCostLess) {
  const auto choice = choosePlan(threeTaps(), Pass::kDx, smallHostOf(IsaLevel::kAvx512), false);
  ASSERT_TRUE(choice.ok());
  EXPECT_STREQ(algorithmName(choice->plan), "winograd");
}

TEST(WinogradCandidates, OtherGeometriesHaveNone) {
  const Machine machine = smallHostOf(IsaLevel::kAvx512);
  for (const auto change :
       {+[](Problem& p) { p.stride.w = 3; }, +[](Problem& p) { p.dilation.h = 2; }, +[](Problem& p) { p.kernel.w = 8; },
        +[](Problem& p) { p.kernel = Dhw{1, 1, 1}; }, +[](Problem& p) { p.batch = 0; }}) {
    Problem p = threeTaps();
    change(p);
    for (int a = 0; a < 3; ++a)
      p.out[a] = (p.in[a] + p.padBefore[a] + p.padAfter[a] - p.dilation[a] * (p.kernel[a] - 1) - 1) / p.stride[a] + 1;
    ASSERT_TRUE(checkProblem(p).ok());
    EXPECT_TRUE(winogradDataCandidates(p, machine).empty());
    EXPECT_TRUE(winogradWeightCandidates(p, machine).empty());
  }
}

TEST(WinogradCandidates, StridesBelowTheKernelHaveSome) {
  const Machine machine = smallHostOf(IsaLevel::kAvx512);
  for (const bool transposed : {false, true}) {
    Problem p = threeTaps();
    p.transposed = transposed;
    p.stride = Dhw{1, 2, 2};
    const Dhw small{1, 10, 11};
    if (transposed) p.in = small;
    p.out = transposed ? Dhw{1, 19, 21} : small;
    ASSERT_TRUE(checkProblem(p).ok()) << checkProblem(p).error().message;
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const std::vector<TilingPlan> plans = proposedPlans("winograd", p, pass, machine);
      EXPECT_FALSE(plans.empty());
      for (const TilingPlan& plan : plans) EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
    }
  }
}

TEST(WinogradRules, ErrorsAreBounded) {
  const Machine machine = smallHostOf(IsaLevel::kAvx512);
  Problem p = problemOf(1, 32, 32, {12, 12, 12}, {3, 3, 3}, {1, 1, 1});
  p.math = MathMode::kRelaxed;
  WinogradDataPlan plan = winogradDataCandidates(p, machine).front();
  plan.tileD = plan.tileH = plan.tileW = 6;
  EXPECT_THAT(checkPlan(p, plan, machine),
              testing::ElementsAre(testing::HasSubstr("tiles of 6 x 6 x 6 let rounding errors grow 94 times")));
}

TEST(WinogradRules, NameTheFieldAndTheValues) {
  const Machine machine = smallHostOf(IsaLevel::kAvx512);
  const Problem p = threeTaps();
  const auto refused = [&](auto plan, const char* part) {
    EXPECT_THAT(checkPlan(p, plan, machine), testing::Contains(testing::HasSubstr(part))) << part;
  };
  const WinogradDataPlan dx = winogradDataCandidates(p, machine).front();
  WinogradDataPlan q = dx;
  q.tileW = 7;
  refused(q, "tile_w = 7 must be at least 2, and with 3 taps");
  q = dx;
  q.tileH = 1;
  refused(q, "tile_h = 1");
  q = dx;
  q.tileD = 2;
  refused(q, "tile_d = 2 must be 1");
  q = dx;
  q.registerRows = 40;
  refused(q, "vector registers (register_rows x register_vectors");
  WinogradWeightsPlan dw = winogradWeightCandidates(p, machine).front();
  dw.bufferC = true;
  dw.reductionParts = 2;
  refused(dw, "reduction_parts must be 1");
  dw.registerVectors = 3;
  refused(dw, "register_vectors = 3 must divide the 4 vectors");
}

TEST(ForcedAlgorithm, IsTheOnlyOneConsidered) {
  const Machine machine = smallHostOf(IsaLevel::kAvx512);
  Problem p = threeTaps(3);
  p.cout = 64;
  for (const char* algorithm : {"direct", "spatial", "winograd"}) {
    const auto choice = choosePlan(p, Pass::kDx, machine, false, WeightsUse::kEachRun, algorithm);
    ASSERT_TRUE(choice.ok()) << algorithm;
    EXPECT_STREQ(algorithmName(choice->plan), algorithm);
  }
  p.math = MathMode::kStrict;
  const auto none = choosePlan(p, Pass::kDx, machine, false, WeightsUse::kEachRun, "winograd");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, testing::HasSubstr("with the algorithm winograd"));
  EXPECT_THAT(none.error().message, testing::HasSubstr("--math relaxed"));
  const auto spatial = choosePlan(threeTaps(), Pass::kDx, machine, false, WeightsUse::kEachRun, "spatial");
  ASSERT_FALSE(spatial.ok());
  EXPECT_THAT(spatial.error().message, testing::HasSubstr("which is for few channels of dx"));
}

}  // namespace
}  // namespace cubejit
