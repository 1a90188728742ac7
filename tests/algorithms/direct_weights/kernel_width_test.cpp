// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients whose lanes are taps and channels together are exact: strides, padding, groups, vectors that end
// within a tap, edges within a vector, odd pairs, parts of rows and of pixels, every type and layout, 1 and 2 threads (bit-identical),
// each backend; and that an infinity of dy at an edge does not reach taps that do not use it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "algorithms/direct_weights/direct_weights.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

const RandomPlans<DirectWeightsPlan> kJoinedTaps{
    .random = RandomConvolution(11, 1),
    .problem = inAnyLayout,
    .candidates = directWeightsCandidates,
    .plan = [](const Problem&, DirectWeightsPlan plan, RandomConvolution&) -> std::optional<TilingPlan> {
      if (plan.vectorize != WeightVectors::kKernelWidth) return std::nullopt;
      return plan;
    },
    .most = 8};

TEST(JoinedTaps, AllPlansAreRight) {
  inSettings({IsaLevel::kAvx512Bf16, IsaLevel::kAvx512, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16},
             [](const Setting& setting) { EXPECT_GT(verifyPlans(kJoinedTaps, setting, 40).size(), 40U); });
}

TEST(JoinedTaps, InterpretersAgree) {
  inInterpreters({DType::kF32, DType::kBf16},
                 [](const Setting& setting) { EXPECT_GT(verifyPlans(kJoinedTaps, setting, 12).size(), 20U); });
}

// One row of 7 columns, 3 taps, 5 x 4 channels; dy is infinite in its first column, x is 1. A tap that does not use the column counts
// the other six.
TEST(JoinedTaps, PaddingTimesInfinityIsNoNan) {
  Problem p;
  p.rank = 1;
  p.batch = 1;
  p.cin = 5;
  p.cout = 4;
  p.in = p.out = Dhw{1, 1, 7};
  p.kernel = Dhw{1, 1, 3};
  p.padBefore = p.padAfter = Dhw{0, 0, 1};
  p.layout = Layout::kNdhwc;
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> dy(7 * 4, 1.0F), x(7 * 5, 1.0F);
  std::fill_n(dy.begin(), 4, infinity);
  for (const IsaLevel level : {IsaLevel::kAvx512, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    DirectWeightsPlan plan;
    plan.vectorize = WeightVectors::kKernelWidth;
    plan.registerRows = 2;
    plan.registerVectors = (15 + isaOf(level).lanes() - 1) / isaOf(level).lanes();
    plan.reduction.h = 7;
    Session session(eagerOptions(level));
    const auto code = session.compile(CompileRequest{p, {false, true, false}, {plan}});
    ASSERT_TRUE(code.ok()) << code.error().message;
    std::vector<float> dw(4 * 5 * 3);
    Tensors tensors;
    tensors.dy = dy.data();
    tensors.x = x.data();
    tensors.dw = dw.data();
    std::size_t bytes = code.value()->workspaceBytes(), room = bytes + 64;
    std::vector<std::byte> memory(room);
    void* workspace = memory.data();
    ASSERT_NE(std::align(64, bytes, workspace, room), nullptr);
    ASSERT_TRUE(code.value()->run(tensors, workspace, bytes).ok());
    for (std::size_t i = 0; i < dw.size(); ++i) EXPECT_EQ(dw[i], i % 3 == 0 ? 6.0F : infinity) << i;
  }
}

}  // namespace
}  // namespace cubejit
