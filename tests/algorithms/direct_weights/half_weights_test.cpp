// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every candidate plan of a 16-bit weight gradient is exact, whichever pixels its dot products pair and whichever operand
// is widened or paired as it is read: even and odd numbers of images, reduction blocks of part of an image and of several, activations of any layout,
// guarded memory, 1 and 2 threads (bit-identical).
#include <gtest/gtest.h>

#include "algorithms/direct_weights/direct_weights.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

const RandomPlans<DirectWeightsPlan> kHalfWeights{
    .random = RandomConvolution(41),
    .problem =
        [](RandomConvolution& random, int i) {
          constexpr Layout kLayouts[] = {Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
          Problem problem = randomProblem(random.engine(), 2e5);
          problem.batch = 1 + i % 4;
          problem.layout = kLayouts[i % 3];
          return problem;
        },
    .candidates = directWeightsCandidates,
    .plan = [](const Problem&, DirectWeightsPlan plan, RandomConvolution&) -> std::optional<TilingPlan> {
      return plan;
    },
    .most = 24};

void expectPlansRight(const Setting& setting, std::size_t leastPlans) {
  const auto verified = verifyPlans(kHalfWeights, setting, 36);
  EXPECT_GT(verified.size(), leastPlans);
  EXPECT_GT(countPlans<DirectWeightsPlan>(verified, [](const auto& plan) { return !plan.packsVectors(); }), 50U)
      << "lanes are read where they lie, pairs are formed in the kernel";
}

TEST(DotWeights, AllPlansAreRight) {
  if (!hostRuns(IsaLevel::kAvx512Bf16)) GTEST_SKIP() << "this machine has no " << toString(IsaLevel::kAvx512Bf16);
  expectPlansRight({IsaLevel::kAvx512Bf16, DType::kBf16}, 500);
}

TEST(WidenedWeights, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512, IsaLevel::kAvx2}, {DType::kF16, DType::kBf16},
             [](const Setting& setting) { expectPlansRight(setting, 300); });
}

}  // namespace
}  // namespace cubejit
