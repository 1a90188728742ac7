// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of math bf16: are plans that round f32 operands right within what rounding costs, of every layout, geometry and mixture with tensors of
// bf16, and is nothing rounded that the caller did not allow?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr Pass kRounded[] = {Pass::kY, Pass::kDx, Pass::kDw};

std::vector<TilingPlan> roundingPlans(const Problem& p, Pass pass, const Machine& machine) {
  std::vector<TilingPlan> plans;
  const auto choice = choosePlan(p, pass, machine, true);
  EXPECT_TRUE(choice.ok());
  for (const Candidate& candidate : choice.ok() ? choice->considered : std::vector<Candidate>{}) {
    if (candidate.plan.reorders.toBf16 && candidate.refusedBy.empty()) plans.push_back(candidate.plan);
  }
  return plans;
}

TEST(RoundedOperands, PlansAreRight) {
  if (!hostRuns(IsaLevel::kAvx512Bf16)) GTEST_SKIP() << "this machine has no dot product of bf16";
  Session session(eagerOptions(IsaLevel::kAvx512Bf16));
  const Machine machine = machineOfSmallL2(IsaLevel::kAvx512Bf16);
  std::mt19937_64 random(74);
  int verified = 0;
  for (int i = 0; i < 120; ++i) {
    Problem p = randomProblem(random, 2e5);
    randomFormats(random, p, false, i % 2 == 0);
    const std::size_t odd = random() % 6;  // one tensor may have another type
    if (odd < kTensorIds.size()) {
      TensorFormat f = formatOf(p, kTensorIds[odd]);
      f.dtype = DType::kBf16;
      if (f.layout != Layout::kNdc1hwc0 && f.layout != Layout::kFractalZ3d) p.formats[odd] = f;
    }
    p.math = MathMode::kBf16;
    for (const Pass pass : kRounded) {
      std::vector<TilingPlan> plans = roundingPlans(p, pass, machine);
      std::shuffle(plans.begin(), plans.end(), random);
      plans.resize(std::min<std::size_t>(plans.size(), 2));
      for (const TilingPlan& plan : plans) {
        ++verified;
        VerifyRequest request{p, maskOf(pass), {1, 2}, static_cast<std::uint64_t>(i), true, {plan}};
        const VerifyOutcome outcome = verifyProblem(session, request);
        ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
            << outcome.message << "\ncubejit verify --reals " << toFlags(p) << "\n"
            << planToJson(plan);
      }
    }
  }
  EXPECT_GT(verified, 300);
}

TEST(RoundedOperands, AreChosenForDenseLayersAndNeverUnasked) {
  const Machine machine = hostOf(IsaLevel::kAvx512Bf16);
  for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
    Problem p = inLayout(layout, squareProblem(4, 64, 64, 28));
    p.dilation = {1, 2, 2};  // which Winograd is not for
    p.padBefore = p.padAfter = {0, 2, 2};
    for (const Pass pass : kRounded) {
      p.math = MathMode::kBf16;
      const auto rounding = choosePlan(p, pass, machine, false);
      ASSERT_TRUE(rounding.ok());
      EXPECT_TRUE(rounding->plan.reorders.toBf16) << toString(pass) << " " << toString(layout);
      EXPECT_TRUE(roundingPlans(p, pass, hostOf(IsaLevel::kAvx512)).empty()) << "nothing is won without dot products";
      for (const MathMode math : {MathMode::kStrict, MathMode::kRelaxed}) {
        p.math = math;
        EXPECT_TRUE(roundingPlans(p, pass, machine).empty());
        EXPECT_THAT(checkPlan(p, rounding->plan, machine),
                    testing::Contains(testing::HasSubstr("reorder_to_bf16 rounds operands of f32 where math = bf16")));
      }
    }
    p.math = MathMode::kBf16;
    EXPECT_TRUE(roundingPlans(p, Pass::kDb, machine).empty());
  }
}

// What a caller computes together is rounded once for those that multiply it; sums of db are of what the caller has.
TEST(RoundedOperands, BiasGradientsSeeWhatTheCallerHas) {
  if (!hostRuns(IsaLevel::kAvx512Bf16)) GTEST_SKIP() << "this machine has no dot product of bf16";
  Problem p = layer(Layout::kNdhwc);
  p.math = MathMode::kBf16;
  Session session(eagerOptions(IsaLevel::kAvx512Bf16));
  PassMask gradients;
  gradients.dx = gradients.dw = gradients.db = true;
  const VerifyOutcome outcome = verifyProblem(session, VerifyRequest{p, gradients, {1, 2}, 5, true, {}});
  EXPECT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message;
}

}  // namespace
}  // namespace cubejit
