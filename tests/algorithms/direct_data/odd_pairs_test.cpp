// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients by dot products of bf16 are exact where a group has an odd number of channels of dy: the last one is paired
// with zero, whatever lies behind it. Grouped and transposed convolutions, every layout, weights packed beforehand and by tasks.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

Problem oddChannels(RandomConvolution& random, int i) {
  Problem problem = random.next();
  if (i % 4 == 0) {  // pointwise: weights whose rows are copied
    problem.kernel = problem.stride = problem.dilation = Dhw{1, 1, 1};
    problem.padBefore = problem.padAfter = Dhw{0, 0, 0};
    problem.in = problem.out;
    problem.transposed = false;
  }
  problem.cout = problem.groups * (1 + 2 * random.below(i % 2 == 0 ? 3 : 40));
  problem.layout = random.layout();
  return problem;
}

const RandomPlans<DirectDataPlan> kOddPairs{
    .random = RandomConvolution(37),
    .problem = oddChannels,
    .candidates = directDataCandidates,
    .plan = [](const Problem&, DirectDataPlan plan, RandomConvolution&) -> std::optional<TilingPlan> {
      if (!plan.dotProducts) return std::nullopt;
      return plan;
    },
    .most = 3};

TEST(OddPairs, AllPlansAreRight) {
  if (!hostRuns(IsaLevel::kAvx512Bf16)) GTEST_SKIP() << "this machine has no " << toString(IsaLevel::kAvx512Bf16);
  const auto verified = verifyPlans(kOddPairs, {IsaLevel::kAvx512Bf16, DType::kBf16}, 160);
  const auto panels = countPlans<DirectDataPlan>(verified, [](const auto& plan) { return plan.packsPerTask(); });
  EXPECT_GT(verified.size() - panels, 50U);
  EXPECT_GT(panels, 20U);
  EXPECT_GT(std::count_if(verified.begin(), verified.end(),
                          [](const VerifiedPlan& v) { return v.problem.cout == v.problem.groups; }),
            20);
}

}  // namespace
}  // namespace cubejit
