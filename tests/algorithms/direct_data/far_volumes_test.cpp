// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients of volumes that come from memory are exact: tasks, and panels, of several planes; the machine's last cache is
// made so small that small volumes are far. Strides, dilation, padding, groups, transposed convolutions, every type and layout.
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

Machine machineOfNoLastCache(IsaLevel level) {
  Machine machine = machineOfSmallL2(level);
  machine.buffers.l1Bytes = 1 << 20;
  machine.buffers.l2Bytes = 512;
  return machine;
}

struct Seen {
  int depths = 0, panels = 0;  // plans in place, with panels
};

Seen verifyPlans(IsaLevel level, DType dtype, int problems) {
  Session session(eagerOptions(level));
  const Machine machine = machineOfNoLastCache(level);
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  RandomConvolution random(29);
  Seen seen;
  for (int i = 0; i < problems; ++i) {
    Problem problem = random.next();
    problem.dtype = dtype;
    problem.layout = kLayouts[static_cast<std::size_t>(random.below(10)) % (i % 3 == 0 ? 3 : 1)];
    std::vector<DirectDataPlan> candidates = dataChannelCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 6;
    for (const DirectDataPlan& plan : candidates) {
      if (left == 0) break;
      if (problem.kernel.d == 1 || plan.packsPerTask() || plan.cache.d == plan.registerD) continue;
      if (!checkPlan(problem, plan, machine).empty()) continue;
      --left;
      ++(plan.packA ? seen.panels : seen.depths);
      if (!planIsRight(session, problem, plan, static_cast<std::uint64_t>(i))) return seen;
    }
  }
  return seen;
}

TEST(FarVolumes, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      const Seen seen = verifyPlans(level, dtype, 150);
      EXPECT_GT(seen.panels, 20) << toString(level) << " " << toString(dtype);
      EXPECT_GT(seen.depths, dtype == DType::kF32 ? 20 : -1) << toString(level);
    }
  }
}

}  // namespace
}  // namespace cubejit
