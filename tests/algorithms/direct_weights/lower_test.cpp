// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks which kernels and panels the direct weight gradient has.
#include "algorithms/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "algorithms/direct_weights/direct_weights.h"
#include "codegen/tile/program.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

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
    DirectWeightsPlan plan;
    plan.registerRows = 4;
    plan.registerTaps = taps;
    plan.reduction.h = 32;
    const auto program = lower(p, plan, hostOf(IsaLevel::kAvx512));
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto contracts = std::count_if(program->kernels.begin(), program->kernels.end(),
                                         [](const Kernel& k) { return std::holds_alternative<Contract>(k); });
    EXPECT_EQ(contracts, taps == 5 ? 1 : 2) << "15 = 5 + 5 + 5 = 6 + 6 + 3";
  }
}

Problem padded3x3(std::int64_t batch, std::int64_t channels, std::int64_t side) {
  return squareProblem(batch, channels, channels, side);
}

// Rows of seven columns: pairs of them leave one over in every row, pairs of images none.
TEST(LowerWeights, PairsOfImagesHaveNoOddOnesOut) {
  std::int64_t panels[2] = {0, 0};
  for (const std::int64_t images : {1, 2}) {
    Problem p = padded3x3(images, 32, 7);
    p.dtype = DType::kBf16;
    DirectWeightsPlan plan;
    plan.registerRows = 4;
    plan.registerTaps = 3;
    plan.reduction.h = 7;
    plan.reduction.n = images;
    plan.packA = plan.dotProducts = true;
    plan.packB = PackVectors::kBlock;
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
      if (buffer.use == Buffer::Use::kPrivate) panels[images - 1] += buffer.bytes;
    }
  }
  EXPECT_GT(panels[0], 0);
  EXPECT_LE(panels[1], panels[0]) << "two images take no more room than one whose columns are paired";
}

// Sums that one pass completes are unpacked before the next block begins: the task keeps one block of them, not all.
TEST(LowerWeights, OneReductionBlockKeepsTheSumsOfOneBlock) {
  const Problem p = padded3x3(2, 64, 6);
  DirectWeightsPlan plan;
  plan.registerRows = 4;
  plan.registerTaps = 3;
  plan.bufferC = true;
  plan.reduction.h = 6;
  const auto sums = [&](std::int64_t images) {
    plan.reduction.n = images;
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
