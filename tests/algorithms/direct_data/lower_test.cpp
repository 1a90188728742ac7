// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks how the direct data gradient unrolls.
#include "algorithms/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "algorithms/direct_data/direct_data.h"
#include "codegen/tile/program.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

Problem row(std::int64_t cin, std::int64_t cout, std::int64_t pixels, std::int64_t taps, std::int64_t padding) {
  Problem p = problemOf(1, cin, cout, {1, 1, pixels}, {1, 1, taps}, {0, 0, padding});
  p.rank = 1;
  return p;
}

// A row of 41 taps: whole tiles run as planned; those of the edges, a section each, only as far as it hides their loops.
TEST(LowerDataChannels, EdgesAreUnrolledToHideTheLoop) {
  const Problem p = row(64, 64, 256, 41, 20);
  DirectDataPlan plan;
  plan.registerW = 14;
  plan.registerVectors = 2;
  plan.unroll = 8;
  const auto program = lower(p, plan, hostOf(IsaLevel::kAvx512));
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Contract* contract = nullptr;
  for (const Kernel& kernel : program->kernels) {
    const auto* one = std::get_if<Contract>(&kernel);
    if (one != nullptr && one->accumulators.size() == 28) contract = one;
  }
  ASSERT_NE(contract, nullptr);
  int edges = 0;
  for (const Section& section : contract->sections) {
    std::size_t multiplyAdds = 0;
    for (const AOperand& a : section.steps.front().a) multiplyAdds += a.uses.size();
    const std::size_t steps = section.steps.size();
    if (multiplyAdds == 28) {
      EXPECT_EQ(steps, 8u);
      continue;
    }
    ++edges;
    EXPECT_TRUE(steps == 8 || steps * multiplyAdds >= 12) << steps << " of " << multiplyAdds;
    EXPECT_TRUE(steps == 1 || steps / 2 * multiplyAdds < 12) << steps << " of " << multiplyAdds;
  }
  EXPECT_EQ(edges, 26);
}

// A row of 910 taps and one channel: blocks at the edges reach any number of them, which sections share.
TEST(LowerDataChannels, LongKernelsAreNotWrittenOutOnceForEachEdge) {
  const Problem p = row(1, 8, 4000, 910, 0);
  DirectDataPlan plan;
  plan.vectorize = DataVectors::kInputChannels;
  plan.registerW = 9;
  plan.bufferC = true;
  const auto program = lower(p, plan, hostOf(IsaLevel::kAvx2));
  ASSERT_TRUE(program.ok()) << program.error().message;
  std::size_t multiplyAdds = 0;
  for (const Kernel& kernel : program->kernels) {
    const auto* contract = std::get_if<Contract>(&kernel);
    if (contract == nullptr) continue;
    for (const Section& section : contract->sections) {
      for (const Step& step : section.steps) {
        for (const AOperand& a : step.a) multiplyAdds += a.uses.size();
      }
    }
  }
  EXPECT_LT(multiplyAdds, 100'000U);
}

}  // namespace
}  // namespace cubejit
