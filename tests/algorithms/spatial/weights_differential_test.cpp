// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients of the spatial algorithm are exact: tiles of taps, rows in a step, reduction blocks, parts; dilation, padding,
// strides along D and H, groups, transposed convolutions.
#include <gtest/gtest.h>

#include "algorithms/spatial/spatial.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

// A random convolution with stride 1 along W and few channels a group.
Problem fewChannels(RandomConvolution& random, int i) {
  Problem p = random.next();
  p.layout = Layout::kNcdhw;
  p.cin = p.groups * (1 + random.below(3));
  p.cout = p.groups * (1 + random.below(2));
  std::int64_t &big = p.transposed ? p.out.w : p.in.w, &small = p.transposed ? p.in.w : p.out.w;
  small = 1 + random.below(40);
  p.stride.w = 1;
  big = small + (p.kernel.w - 1) * p.dilation.w - p.padBefore.w - p.padAfter.w;
  return big < 1 ? fewChannels(random, i) : p;
}

const RandomPlans<SpatialWeightsPlan> kTapTiles{
    .random = RandomConvolution(47, 9),
    .problem = fewChannels,
    .candidates = spatialWeightsCandidates,
    .plan = [](const Problem& p, SpatialWeightsPlan plan, RandomConvolution& random) -> std::optional<TilingPlan> {
      plan.registerTapsH = 1 + random.below(p.kernel.h);
      plan.registerTapsW = 1 + random.below(p.kernel.w);
      TilingPlan whole = plan;
      whole.reorders.result = p.dtype != DType::kF32;
      return whole;
    },
    .most = 3};

TEST(WeightPixels, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16},
             [](const Setting& setting) { EXPECT_GT(verifyPlans(kTapTiles, setting, 60).size(), 60U); });
}

}  // namespace
}  // namespace cubejit
