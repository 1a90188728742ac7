// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients whose columns are folded into channels are exact: 1D, 2D and 3D, strides of D and H that overlap, leave gaps
// or do not, every type and layout of dx and of w.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/kit/reorder.h"
#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// A random convolution, made foldable.
Problem foldableProblem(RandomConvolution& random) {
  Problem p = random.next();
  while (p.transposed) p = random.next();
  p.groups = 1;
  p.kernel.w = p.stride.w = 2 + random.below(7);
  p.dilation.w = 1;
  p.padBefore.w = p.padAfter.w = 0;
  p.in.w = p.out.w * p.kernel.w;
  p.cin = 1 + random.below(12);
  return p;
}

TEST(SpaceToDepth, AllPlansAreRight) {
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    Session session(eagerOptions(level));
    const Machine machine = machineOfSmallL2(level);
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      RandomConvolution random(31);
      int seen = 0, pairs = 0;
      for (int i = 0; i < 60; ++i) {
        Problem problem = foldableProblem(random);
        ASSERT_TRUE(foldable(problem));
        problem.dtype = dtype;
        problem.layout = kLayouts[static_cast<std::size_t>(random.below(3))];
        Reorders reorders;
        reorders.spaceToDepth = reorders.w = true;
        reorders.result = problem.layout != Layout::kNdhwc;
        std::vector<DirectDataPlan> candidates =
            dataChannelCandidates(coreProblem(problem, Gradient::kDx, reorders), machine);
        std::shuffle(candidates.begin(), candidates.end(), random.engine());
        int left = 3;
        for (DirectDataPlan& plan : candidates) {
          if (left == 0) break;
          if (!checkPlan(problem, {plan, reorders}, machine).empty()) continue;
          --left;
          ++seen;
          pairs += plan.dotProducts ? 1 : 0;
          ASSERT_TRUE(planIsRight(session, problem, {plan, reorders}, static_cast<std::uint64_t>(i)));
        }
      }
      EXPECT_GT(seen, 100) << toString(level) << " " << toString(dtype);
      EXPECT_EQ(pairs > 0, dtype == DType::kBf16 && level == IsaLevel::kAvx512Bf16);
    }
  }
}

}  // namespace
}  // namespace cubejit
