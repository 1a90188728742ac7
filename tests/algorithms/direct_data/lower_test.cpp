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

namespace cubejit {
namespace {

// A row of 41 taps: whole tiles run as planned; those of the edges, a section each, only as far as it hides their loops.
TEST(LowerDataChannels, EdgesAreUnrolledToHideTheLoop) {
  Problem p;
  p.rank = 1;
  p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 1, 256};
  p.kernel = Dhw{1, 1, 41};
  p.padBefore = p.padAfter = Dhw{0, 0, 20};
  p.layout = Layout::kNdhwc;
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

}  // namespace
}  // namespace cubejit
