// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients whose kernels ask for lines of dy ahead are exact: strides, dilation, padding, groups, transposed
// convolutions, every type that is read in place.
#include <gtest/gtest.h>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

const RandomPlans<DirectDataPlan> kAskedLines{
    .random = RandomConvolution(41),
    .problem =
        [](RandomConvolution& random, int) {
          Problem problem = random.next();
          problem.layout = Layout::kNdhwc;
          return problem;
        },
    .candidates = directDataCandidates,
    .plan = [](const Problem&, DirectDataPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
      plan.prefetch = Prefetch::kOperands;
      plan.prefetchDistance = 1 + random.below(6);
      return plan;
    },
    .most = 4};

TEST(AskedLines, AllPlansAreRight) {
  const auto test = [](const Setting& setting) { EXPECT_GT(verifyPlans(kAskedLines, setting, 60).size(), 60U); };
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}, {DType::kF32}, test);
  inSettings({IsaLevel::kAvx512Bf16}, {DType::kBf16}, test);  // elsewhere widened in panels: nothing is read in place
}

}  // namespace
}  // namespace cubejit
