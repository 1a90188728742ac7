// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients whose first block of rows copies its lanes for the others are exact: strides, padding, tails of lanes and
// of rows, odd pairs, parts of rows and of pixels, private sums and sums in dw, every type and layout, 1 and 2 threads (bit-identical),
// each backend.
#include <gtest/gtest.h>

#include "algorithms/direct_weights/direct_weights.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

Problem randomPointwise(RandomConvolution& random, int i) {
  Problem p;
  p.rank = static_cast<int>(1 + random.below(3));
  p.batch = 1 + random.below(4);
  p.groups = 1 + random.below(2);
  p.cin = p.groups * (1 + random.below(40));
  p.cout = p.groups * (1 + random.below(40));
  for (int axis = 3 - p.rank; axis < 3; ++axis) {
    p.stride[axis] = 1 + random.below(2);
    p.padBefore[axis] = p.padAfter[axis] = random.below(4) == 0 ? 1 : 0;
    p.in[axis] = 1 + random.below(7);
    p.out[axis] = (p.in[axis] + 2 * p.padBefore[axis] - 1) / p.stride[axis] + 1;
  }
  p.layout = random.layoutOf(i);
  return p;
}

const RandomPlans<DirectWeightsPlan> kFirstTouch{
    .random = RandomConvolution(7),
    .problem = randomPointwise,
    .candidates = directWeightsCandidates,
    .plan = [](const Problem&, DirectWeightsPlan plan, RandomConvolution&) -> std::optional<TilingPlan> {
      plan.packB = PackVectors::kFirstUse;
      plan.order = IterateOrder::kPixelsOuter;
      return plan;
    },
    .most = 12};

TEST(FirstTouch, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx512, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16},
             [](const Setting& setting) { EXPECT_GT(verifyPlans(kFirstTouch, setting, 24).size(), 100U); });
}

TEST(FirstTouch, InterpretersAgree) {
  inInterpreters({DType::kF32, DType::kBf16},
                 [](const Setting& setting) { EXPECT_GT(verifyPlans(kFirstTouch, setting, 8).size(), 40U); });
}

}  // namespace
}  // namespace cubejit
