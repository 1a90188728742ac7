// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients with lanes of pixels are exact whose tiles have several rows of H: strides, dilation, padding, planes, groups,
// transposed convolutions, tensors read in place and staged, results that leave through a panel.
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

int verifyPlans(IsaLevel level, DType dtype, Layout layout, int problems) {
  Session session(eagerOptions(level));
  const Machine machine = machineOfSmallL2(level);
  RandomConvolution random(43);
  int seen = 0;
  for (int i = 0; i < problems; ++i) {
    Problem problem = random.next();
    problem.dtype = dtype;
    problem.layout = layout;
    const std::int64_t channels = 1 + random.below(3);
    problem.cin = problem.groups * channels;
    if (i % 2 == 0) problem.cout = problem.groups;  // depthwise, or one reduced channel
    std::vector<SpatialDataPlan> candidates = dataPixelCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 3;
    for (SpatialDataPlan& plan : candidates) {
      if (left == 0) break;
      plan.registerH = 2 + random.below(4);
      plan.cache.h = plan.registerH * (1 + random.below(3));
      TilingPlan whole = plan;
      whole.reorders.w = dtype != DType::kF32;
      if (!checkPlan(problem, whole, machine).empty()) continue;
      --left;
      ++seen;
      if (!planIsRight(session, problem, whole, static_cast<std::uint64_t>(i))) return seen;
    }
  }
  return seen;
}

TEST(PixelRows, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc})
        EXPECT_GT(verifyPlans(level, dtype, layout, 40), 40) << toString(level) << " " << toString(dtype);
    }
  }
}

}  // namespace
}  // namespace cubejit
