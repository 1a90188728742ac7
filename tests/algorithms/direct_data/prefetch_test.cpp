// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients whose kernels ask for lines of dy ahead are exact: strides, dilation, padding, groups, transposed
// convolutions, every type that is read in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

int verifyPlans(IsaLevel level, DType dtype, int problems) {
  Session session(eagerOptions(level));
  const Machine machine = machineOfSmallL2(level);
  RandomConvolution random(41);
  int seen = 0;
  for (int i = 0; i < problems; ++i) {
    Problem problem = random.next();
    problem.dtype = dtype;
    problem.layout = Layout::kNdhwc;
    std::vector<DirectDataPlan> candidates = dataChannelCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 4;
    for (DirectDataPlan& plan : candidates) {
      if (left == 0) break;
      plan.prefetch = Prefetch::kOperands;
      plan.prefetchDistance = 1 + random.below(6);
      if (!checkPlan(problem, plan, machine).empty()) continue;
      --left;
      ++seen;
      if (!planIsRight(session, problem, plan, static_cast<std::uint64_t>(i))) return seen;
    }
  }
  return seen;
}

TEST(AskedLines, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      if (dtype == DType::kBf16 && level == IsaLevel::kAvx2) continue;  // widened in panels: nothing is read in place
      EXPECT_GT(verifyPlans(level, dtype, 60), 60) << toString(level) << " " << toString(dtype);
    }
  }
}

}  // namespace
}  // namespace cubejit
