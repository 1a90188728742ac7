// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which problems have Winograd plans, that all of them are legal, and that what is not is refused with its rule.
#include "algorithms/winograd/winograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem threeTaps(std::int64_t channels = 64) {
  Problem p;
  p.batch = 2;
  p.cin = p.cout = channels;
  p.in = p.out = Dhw{1, 20, 22};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.math = MathMode::kRelaxed;
  return p;
}

Machine hostOf(IsaLevel level) {
  Machine machine;
  machine.cores = 2;
  machine.isa = isaOf(level);
  machine.buffers = Buffers{32 << 10, 32 << 10, 2048, 1 << 20, 32 << 20};
  return machine;
}

TEST(WinogradCandidates, AreLegalOnEveryIsa) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kNeon}) {
    const Machine machine = hostOf(level);
    for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
      for (const std::int64_t channels : {1, 20, 64, 80}) {
        const Problem p = threeTaps(channels);
        const std::vector<TilingPlan> plans = winogradCandidates(p, gradient, machine);
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
  const Machine machine = hostOf(IsaLevel::kAvx512);
  Problem p = threeTaps();
  const TilingPlan plan = winogradCandidates(p, Gradient::kDx, machine).front();
  p.math = MathMode::kStrict;
  EXPECT_TRUE(winogradCandidates(p, Gradient::kDx, machine).empty());
  EXPECT_THAT(checkPlan(p, plan, machine), testing::ElementsAre(testing::HasSubstr("needs math = relaxed")));
  const auto choice = choosePlan(p, Gradient::kDx, machine, false);
  ASSERT_TRUE(choice.ok());
  EXPECT_NE(choice->plan.lanes, LaneRole::kWinograd);
}

TEST(WinogradCandidates, AreChosenWhereTheyCostLess) {
  const auto choice = choosePlan(threeTaps(), Gradient::kDx, hostOf(IsaLevel::kAvx512), false);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->plan.lanes, LaneRole::kWinograd);
}

TEST(WinogradCandidates, OtherGeometriesHaveNone) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  for (const auto change :
       {+[](Problem& p) { p.stride.w = 2; }, +[](Problem& p) { p.dilation.h = 2; }, +[](Problem& p) { p.kernel.w = 6; },
        +[](Problem& p) { p.kernel = Dhw{1, 1, 1}; }, +[](Problem& p) { p.batch = 0; }}) {
    Problem p = threeTaps();
    change(p);
    for (int a = 0; a < 3; ++a)
      p.out[a] = (p.in[a] + p.padBefore[a] + p.padAfter[a] - p.dilation[a] * (p.kernel[a] - 1) - 1) / p.stride[a] + 1;
    ASSERT_TRUE(checkProblem(p).ok());
    EXPECT_TRUE(winogradCandidates(p, Gradient::kDx, machine).empty());
    EXPECT_TRUE(winogradCandidates(p, Gradient::kDw, machine).empty());
  }
}

TEST(WinogradRules, NameTheFieldAndTheValues) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  const Problem p = threeTaps();
  const auto refused = [&](Gradient gradient, auto change, const char* part) {
    TilingPlan plan = winogradCandidates(p, gradient, machine).front();
    change(plan);
    EXPECT_THAT(checkPlan(p, plan, machine), testing::Contains(testing::HasSubstr(part))) << part;
  };
  refused(Gradient::kDx, [](TilingPlan& q) { q.winogradW = 5; }, "winograd_w = 5 must be at least 2, and with 3 taps");
  refused(Gradient::kDx, [](TilingPlan& q) { q.winogradH = 1; }, "winograd_h = 1");
  refused(Gradient::kDx, [](TilingPlan& q) { q.winogradD = 2; }, "winograd_d = 2 must be 1");
  refused(Gradient::kDx, [](TilingPlan& q) { q.baseRows = 40; }, "vector registers (base_rows x base_vectors");
  refused(Gradient::kDw, [](TilingPlan& q) { q.baseVectors = 3; }, "base_vectors = 3 must divide the 4 vectors");
  refused(
      Gradient::kDw,
      [](TilingPlan& q) {
        q.panelC = true;
        q.cores.reduction = 2;
      },
      "core_reduction must be 1");
  refused(Gradient::kDx, [](TilingPlan& q) { q.lanes = LaneRole::kChannels; }, "must be 1 unless lanes = winograd");
}

TEST(ForcedAlgorithm, IsTheOnlyOneConsidered) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  Problem p = threeTaps(3);
  p.cout = 64;
  for (const LaneRole role : {LaneRole::kChannels, LaneRole::kPixels, LaneRole::kReduced, LaneRole::kWinograd}) {
    const auto choice = choosePlan(p, Gradient::kDx, machine, false, WeightsUse::kEachRun, role);
    ASSERT_TRUE(choice.ok()) << toString(role);
    EXPECT_EQ(choice->plan.lanes, role);
  }
  p.math = MathMode::kStrict;
  const auto none = choosePlan(p, Gradient::kDx, machine, false, WeightsUse::kEachRun, LaneRole::kWinograd);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, testing::HasSubstr("with the algorithm winograd"));
  EXPECT_THAT(none.error().message, testing::HasSubstr("--math relaxed"));
  const auto pixels = choosePlan(threeTaps(), Gradient::kDx, machine, false, WeightsUse::kEachRun, LaneRole::kPixels);
  ASSERT_FALSE(pixels.ok());
  EXPECT_THAT(pixels.error().message, testing::HasSubstr("dX of few result channels"));
}

}  // namespace
}  // namespace cubejit
