// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients by dot products of bf16 are exact where a group has an odd number of channels of dy: the last one is paired
// with zero, whatever lies behind it. Grouped and transposed convolutions, every layout, weights packed beforehand and by tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

TEST(OddPairs, AllPlansAreRight) {
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  if (!hostRuns(IsaLevel::kAvx512Bf16)) GTEST_SKIP() << "this CPU has no dot products of bf16";
  Session session(eagerOptions(IsaLevel::kAvx512Bf16));
  const Machine machine = machineOfSmallL2(IsaLevel::kAvx512Bf16);
  RandomConvolution random(37);
  int shared = 0, panels = 0, alone = 0;
  for (int i = 0; i < 160; ++i) {
    Problem problem = random.next();
    const bool pointwise = i % 4 == 0;  // weights whose rows are copied
    if (pointwise) {
      problem.kernel = problem.stride = problem.dilation = Dhw{1, 1, 1};
      problem.padBefore = problem.padAfter = Dhw{0, 0, 0};
      problem.in = problem.out;
      problem.transposed = false;
    }
    problem.cout = problem.groups * (1 + 2 * random.below(i % 2 == 0 ? 3 : 40));
    problem.dtype = DType::kBf16;
    problem.layout = kLayouts[static_cast<std::size_t>(random.below(3))];
    std::vector<DirectDataPlan> candidates = dataChannelCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 3;
    for (const DirectDataPlan& plan : candidates) {
      if (left == 0) break;
      if (!plan.dotProducts || !checkPlan(problem, plan, machine).empty()) continue;
      --left;
      ++(plan.packsPerTask() ? panels : shared);
      alone += problem.cout == problem.groups ? 1 : 0;
      ASSERT_TRUE(planIsRight(session, problem, plan, static_cast<std::uint64_t>(i)));
    }
  }
  EXPECT_GT(shared, 50);
  EXPECT_GT(panels, 20);
  EXPECT_GT(alone, 20);
}

}  // namespace
}  // namespace cubejit
