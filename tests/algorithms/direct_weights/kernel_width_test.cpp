// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients whose lanes are taps and channels together are exact: strides, padding, groups, vectors that end
// within a tap, edges within a vector, odd pairs, parts of rows and of pixels, every type and layout, 1 and 2 threads (bit-identical),
// each backend; and that an infinity of dy at an edge does not reach taps that do not use it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "algorithms/direct_weights/direct_weights.h"
#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// How many plans of random problems were verified.
int verifyPlans(IsaLevel level, DType dtype, BackendKind backend, int problems) {
  Options options = eagerOptions(level);
  options.backend = backend;
  Session session(options);
  const Machine machine = machineOfSmallL2(level);
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  RandomConvolution random(11, 1);
  int plans = 0;
  for (int i = 0; i < problems; ++i) {
    Problem problem = random.next();
    problem.dtype = dtype;
    problem.layout = kLayouts[static_cast<std::size_t>(random.below(10)) % (i % 3 == 0 ? 3 : 1)];
    std::vector<DirectWeightsPlan> candidates = weightCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 8;
    for (const DirectWeightsPlan& plan : candidates) {
      if (left == 0 || plan.vectorize != WeightVectors::kKernelWidth || !checkPlan(problem, plan, machine).empty())
        continue;
      --left;
      ++plans;
      if (!planIsRight(session, problem, plan, static_cast<std::uint64_t>(i))) return plans;
    }
  }
  return plans;
}

TEST(JoinedTaps, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx512, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16})
      EXPECT_GT(verifyPlans(level, dtype, BackendKind::kXbyak, 40), 40) << toString(level) << " " << toString(dtype);
  }
}

TEST(JoinedTaps, InterpretersAgree) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    const IsaLevel level = hostRuns(IsaLevel::kAvx512Bf16) ? IsaLevel::kAvx512Bf16 : IsaLevel::kAvx2;
    for (const DType dtype : {DType::kF32, DType::kBf16})
      EXPECT_GT(verifyPlans(level, dtype, backend, 12), 20) << toString(backend);
  }
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
