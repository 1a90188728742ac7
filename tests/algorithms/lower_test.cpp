// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that lowering any legal plan of any problem gives a sound TileProgram that computes the fp64 reference exactly.
// Leaves everything below the TileProgram to the differential tests.
#include "algorithms/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <variant>
#include <vector>

#include "codegen/tile/interpret_program.h"
#include "runtime/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "tests/support/host.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

class Lower : public testing::TestWithParam<IsaLevel> {};

TEST_P(Lower, AnyLegalPlanEqualsTheReference) {
  const Machine machine = hostOf(GetParam());
  std::mt19937_64 random(GetParam() == IsaLevel::kAvx2 ? 21 : 22);
  int plans = 0;
  for (int i = 0; i < 75; ++i) {
    const Problem p = randomProblem(random, 2e4);
    const double summands =
        static_cast<double>(p.batch * (p.cin + p.cout) * p.kernel.volume() * (p.out.volume() + p.in.volume()));
    const std::vector<float> dy = randomIntegers(random, yElements(p), summands),
                             x = randomIntegers(random, xElements(p), summands),
                             w = randomIntegers(random, wElements(p), summands);
    const ReferenceGradients want = referenceGradients(p, GradientMask{true, true, true}, dy, x, w);
    for (const Gradient gradient : {Gradient::kDx, Gradient::kDw, Gradient::kDb}) {
      const auto choice = choosePlan(p, gradient, machine, true);
      ASSERT_TRUE(choice.ok()) << choice.error().message;
      const std::vector<double>& right = gradient == Gradient::kDx   ? want.dx
                                         : gradient == Gradient::kDw ? want.dw
                                                                     : want.db;
      for (int pick = 0; pick < 3; ++pick) {
        const Candidate& candidate = choice->considered[pick == 0 ? 0 : random() % choice->considered.size()];
        if (!candidate.refusedBy.empty()) continue;
        const std::string where = problemToJson(p) + "\n" + planToJson(candidate.plan);
        const auto program = lower(p, candidate.plan, machine);
        ASSERT_TRUE(program.ok()) << program.error().message << "\n" << where;
        std::vector<float> got(right.size(), -77.0F);
        Tensors tensors{dy.data(), x.data(), w.data(), nullptr, nullptr, nullptr};
        (gradient == Gradient::kDx ? tensors.dx : gradient == Gradient::kDw ? tensors.dw : tensors.db) = got.data();
        const Status status = interpret(*program, tensors);
        ASSERT_TRUE(status.ok()) << status.error().message << "\n" << where;
        for (std::size_t e = 0; e < got.size(); ++e)
          ASSERT_EQ(static_cast<double>(got[e]), right[e]) << toString(gradient) << "[" << e << "]\n" << where;
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, 300);
}

INSTANTIATE_TEST_SUITE_P(Isa, Lower, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512),
                         [](const auto& info) { return toString(info.param); });

// A row of 41 taps: whole tiles run as planned; those of the edges, a section each, only as far as it hides their loops.
TEST(LowerDataChannels, EdgesAreUnrolledToHideTheLoop) {
  Problem p;
  p.rank = 1;
  p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 1, 256};
  p.kernel = Dhw{1, 1, 41};
  p.padBefore = p.padAfter = Dhw{0, 0, 20};
  p.layout = Layout::kNdhwc;
  TilingPlan plan;
  plan.gradient = Gradient::kDx;
  plan.baseW = 14;
  plan.baseVectors = 2;
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

// 15 taps a row in blocks of five: the first and the last have pixels without partners, the middle one has none, yet one kernel does.
TEST(LowerWeights, BlocksOfAsManyTapsShareAKernel) {
  Problem p;
  p.rank = 2;
  p.cin = p.cout = 32;
  p.in = p.out = Dhw{1, 32, 32};
  p.kernel = Dhw{1, 15, 15};
  p.padBefore = p.padAfter = Dhw{0, 7, 7};
  p.layout = Layout::kNdhwc;
  for (const std::int64_t taps : {5, 6}) {
    TilingPlan plan;
    plan.gradient = Gradient::kDw;
    plan.baseRows = 4;
    plan.baseTapsW = taps;
    plan.panelH = 32;
    const auto program = lower(p, plan, hostOf(IsaLevel::kAvx512));
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto contracts = std::count_if(program->kernels.begin(), program->kernels.end(),
                                         [](const Kernel& k) { return std::holds_alternative<Contract>(k); });
    EXPECT_EQ(contracts, taps == 5 ? 1 : 2) << "15 = 5 + 5 + 5 = 6 + 6 + 3";
  }
}

Problem padded3x3(std::int64_t batch, std::int64_t channels, std::int64_t side) {
  Problem p;
  p.rank = 2;
  p.batch = batch;
  p.cin = p.cout = channels;
  p.in = p.out = Dhw{1, side, side};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.layout = Layout::kNdhwc;
  return p;
}

// Rows of seven columns: pairs of them leave one over in every row, pairs of images none.
TEST(LowerWeights, PairsOfImagesHaveNoOddOnesOut) {
  std::int64_t panels[2] = {0, 0};
  for (const std::int64_t images : {1, 2}) {
    Problem p = padded3x3(images, 32, 7);
    p.dtype = DType::kBf16;
    TilingPlan plan;
    plan.gradient = Gradient::kDw;
    plan.baseRows = 4;
    plan.baseTapsW = 3;
    plan.panelH = 7;
    plan.baseBatch = images;
    plan.panelA = plan.panelB = plan.dotProducts = true;
    const auto program = lower(p, plan, hostOf(IsaLevel::kAvx512Bf16));
    ASSERT_TRUE(program.ok()) << program.error().message;
    int odd = 0;
    for (const Kernel& kernel : program->kernels) {
      const auto* contract = std::get_if<Contract>(&kernel);
      if (contract == nullptr) continue;
      for (const Section& section : contract->sections)
        odd += static_cast<int>(std::count_if(section.steps.begin(), section.steps.end(),
                                              [](const Step& step) { return step.firstMembers; }));
    }
    EXPECT_EQ(odd > 0, images == 1);
    for (const Buffer& buffer : program->buffers) {
      if (buffer.role == BufferRole::kPrivate) panels[images - 1] += buffer.bytes;
    }
  }
  EXPECT_GT(panels[0], 0);
  EXPECT_LE(panels[1], panels[0]) << "two images take no more room than one whose columns are paired";
}

// Sums that one visit completes are unpacked before the next block begins: the task keeps one block of them, not all.
TEST(LowerWeights, OneChunkKeepsTheSumsOfOneBlock) {
  const Problem p = padded3x3(2, 64, 6);
  TilingPlan plan;
  plan.gradient = Gradient::kDw;
  plan.baseRows = 4;
  plan.baseTapsW = 3;
  plan.panelC = true;
  plan.panelH = 6;
  const auto sums = [&](std::int64_t images) {
    plan.baseBatch = images;
    const auto program = lower(p, plan, hostOf(IsaLevel::kAvx512));
    EXPECT_TRUE(program.ok()) << program.error().message;
    std::int64_t bytes = 0;
    for (const Buffer& buffer : program->buffers) bytes += buffer.name == "panel_dw" ? buffer.bytes : 0;
    return bytes;
  };
  EXPECT_EQ(sums(2), 4 * 9 * 16 * 4);
  EXPECT_EQ(sums(1), 64 * 9 * 64 * 4);
}

}  // namespace
}  // namespace cubejit
