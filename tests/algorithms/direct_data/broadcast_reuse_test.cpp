// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients whose taps along W share scalars are exact: boxes and edges of every kind, strides, dilation, lines, groups,
// tails of channels, transposed convolutions, every type and layout, 1 and 2 threads (bit-identical), each backend.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

const RandomPlans<DirectDataPlan> kSharedScalars{
    .random = RandomConvolution(13),
    .problem = inAnyLayout,
    .candidates = directDataCandidates,
    .plan = [](const Problem& problem, DirectDataPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
      plan.broadcastTaps = std::min(problem.kernel.w, 2 + random.below(4));
      return plan;
    },
    .most = 8};

TEST(SharedScalars, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx512, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16},
             [](const Setting& setting) { EXPECT_GT(verifyPlans(kSharedScalars, setting, 40).size(), 100U); });
}

TEST(SharedScalars, InterpretersAgree) {
  inInterpreters({DType::kF32, DType::kBf16},
                 [](const Setting& setting) { EXPECT_GT(verifyPlans(kSharedScalars, setting, 12).size(), 40U); });
}

}  // namespace
}  // namespace cubejit
