// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are gradients planned in blocks of dy where that saves reading it again, and nowhere else?
#include "tiling/back_to_back_plans.h"

#include <gtest/gtest.h>

#include "cubejit/index_map.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/operands.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Machine machineOf(int cores) {
  Machine machine = hostOf(IsaLevel::kAvx512);
  machine.cores = cores;
  machine.buffers.l1Bytes = 1 << 20;
  machine.buffers.l2Bytes = 32 << 20;
  return machine;
}

Problem depthwise(std::int64_t batch) { return ofGroups(64, squareProblem(batch, 64, 64, 112)); }

TEST(BackToBackPlans, BlocksAreForTensorsBeyondTheCaches) {
  EXPECT_EQ(dyBlocks(depthwise(1), machineOf(2)).bytes, 0) << "3 MiB stay in the last cache";
  EXPECT_EQ(dyBlocks(depthwise(32), machineOf(2)).bytes, 256 << 10);
  EXPECT_EQ(dyBlocks(depthwise(32), machineOf(200)).bytes, 0) << "98 MiB are 392 blocks, 2 a core";
}

TEST(BackToBackPlans, SumsAreCutIntoBlocks) {
  const Problem p = depthwise(32);
  const Machine machine = machineOf(2);
  const std::int64_t block = dyBlocks(p, machine).bytes;
  for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
    const auto choice = choosePlan(p, pass, machine, false);
    ASSERT_TRUE(choice.ok());
    const TilingPlan plan = planInBlocks(p, choice->plan, machine, block);
    EXPECT_TRUE(checkPlan(p, plan, machine).empty());
    if (pass == Pass::kDx)
      EXPECT_EQ(fieldOf(plan, "reduction_parts"), fieldOf(choice->plan, "reduction_parts"));
    else
      EXPECT_EQ(fieldOf(plan, "reduction_parts"), formatBytes(p, TensorId::kDy) / block) << toString(pass);
    EXPECT_EQ(fieldOf(planInBlocks(p, choice->plan, machine, 0), "reduction_parts"),
              fieldOf(choice->plan, "reduction_parts"));
  }
}

TEST(BackToBackPlans, LargeWeightsAreNotSummedManyTimes) {
  const Problem p = squareProblem(16, 512, 512, 28);  // 9.4 MB of dw; 25.7 MB of dy are 98 blocks
  const Machine machine = machineOf(2);
  const auto choice = choosePlan(p, Pass::kDw, machine, false);
  ASSERT_TRUE(choice.ok());
  ASSERT_GT(dyBlocks(p, machine).bytes, 0);
  EXPECT_LT(fieldOf(planInBlocks(p, choice->plan, machine, dyBlocks(p, machine).bytes), "reduction_parts"), 98);
}

}  // namespace
}  // namespace cubejit
