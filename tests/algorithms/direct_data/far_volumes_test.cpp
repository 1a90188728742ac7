// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients of volumes that come from memory are exact: tasks, and panels, of several planes; the machine's last cache is
// made so small that small volumes are far. Strides, dilation, padding, groups, transposed convolutions, every type and layout.
#include <gtest/gtest.h>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

const RandomPlans<DirectDataPlan> kFarVolumes{
    .random = RandomConvolution(29),
    .problem = inAnyLayout,
    .candidates = directDataCandidates,
    .plan = [](const Problem& problem, DirectDataPlan plan, RandomConvolution&) -> std::optional<TilingPlan> {
      if (problem.kernel.d == 1 || plan.packsPerTask() || plan.cache.d == plan.registerD) return std::nullopt;
      return plan;
    },
    .most = 6,
    .machine =
        [](IsaLevel level) {
          Machine machine = machineOfSmallL2(level);
          machine.buffers.l1Bytes = 1 << 20;
          machine.buffers.l2Bytes = 512;
          return machine;
        }};

TEST(FarVolumes, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16},
             [](const Setting& setting) {
               const auto verified = verifyPlans(kFarVolumes, setting, 150);
               const auto panels = countPlans<DirectDataPlan>(verified, [](const auto& plan) { return plan.packA; });
               EXPECT_GT(panels, 20U);
               if (setting.dtype == DType::kF32) {
                 EXPECT_GT(verified.size() - panels, 20U) << "in place";
               }
             });
}

}  // namespace
}  // namespace cubejit
