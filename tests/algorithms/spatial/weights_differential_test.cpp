// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients with lanes of pixels are exact: tiles of taps, rows in a step, images in a call, splits; dilation, padding,
// strides along D and H, groups, transposed convolutions.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithms/spatial/spatial.h"
#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// A random convolution with stride 1 along W and few channels a group.
Problem fewChannels(RandomConvolution& random) {
  Problem p = random.next();
  p.layout = Layout::kNcdhw;
  p.cin = p.groups * (1 + random.below(3));
  p.cout = p.groups * (1 + random.below(2));
  std::int64_t &big = p.transposed ? p.out.w : p.in.w, &small = p.transposed ? p.in.w : p.out.w;
  small = 1 + random.below(40);
  p.stride.w = 1;
  big = small + (p.kernel.w - 1) * p.dilation.w - p.padBefore.w - p.padAfter.w;
  return big < 1 ? fewChannels(random) : p;
}

int verifyPlans(IsaLevel level, DType dtype, int problems) {
  Session session(eagerOptions(level));
  const Machine machine = machineOfSmallL2(level);
  RandomConvolution random(47, 9);
  int seen = 0;
  for (int i = 0; i < problems; ++i) {
    Problem problem = fewChannels(random);
    problem.dtype = dtype;
    std::vector<SpatialWeightsPlan> candidates = weightPixelCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 3;
    for (SpatialWeightsPlan& plan : candidates) {
      if (left == 0) break;
      plan.registerTapsH = 1 + random.below(problem.kernel.h);
      plan.registerTapsW = 1 + random.below(problem.kernel.w);
      TilingPlan whole = plan;
      whole.reorders.result = dtype != DType::kF32;
      if (!checkPlan(problem, whole, machine).empty()) continue;
      --left;
      ++seen;
      if (!planIsRight(session, problem, whole, static_cast<std::uint64_t>(i))) return seen;
    }
  }
  return seen;
}

TEST(WeightPixels, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16})
      EXPECT_GT(verifyPlans(level, dtype, 60), 60) << toString(level) << " " << toString(dtype);
  }
}

}  // namespace
}  // namespace cubejit
