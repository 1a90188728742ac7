// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether sums go to dw from registers exactly where nothing is added to them later.
#include "algorithms/direct_weights/direct_stores.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/lower.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem pointwiseOf(DType type) { return ofType(type, problemOf(2, 40, 24, {1, 3, 4}, {1, 1, 1}, {0, 0, 0})); }

// All pixels in one reduction block: a pointwise problem is one line of those of all images.
DirectWeightsPlan wholeLine() {
  DirectWeightsPlan plan;
  plan.reduction.n = plan.reduction.d = 1;
  plan.reduction.h = 24;
  return plan;
}

TEST(DirectWeights, NothingMayBeAddedLater) {
  const HostIsa rounds = isaOf(IsaLevel::kAvx512Bf16), integers = isaOf(IsaLevel::kAvx512);
  const auto direct = [&](DType type, const DirectWeightsPlan& plan, const HostIsa& isa) {
    return storesSumsDirectly(makeConvView(pointwiseOf(type), Pass::kDw), plan, type, isa);
  };
  for (const DType type : {DType::kF32, DType::kF16, DType::kBf16}) EXPECT_TRUE(direct(type, wholeLine(), rounds));
  EXPECT_FALSE(direct(DType::kBf16, wholeLine(), integers));
  EXPECT_TRUE(direct(DType::kF16, wholeLine(), integers));
  DirectWeightsPlan plan = wholeLine();
  plan.reduction.h = 12;  // a second reduction block adds to the first one's sums
  EXPECT_TRUE(direct(DType::kF32, plan, rounds));
  EXPECT_FALSE(direct(DType::kF16, plan, rounds));
  Problem strided = pointwiseOf(DType::kBf16);  // images stay apart
  strided.stride = {1, 2, 2};
  strided.in = {1, 5, 7};
  const ConvView images = makeConvView(strided, Pass::kDw);
  plan = wholeLine();
  plan.reduction.h = 3;
  EXPECT_FALSE(storesSumsDirectly(images, plan, DType::kBf16, rounds));
  plan.reduction.n = 2;
  EXPECT_TRUE(storesSumsDirectly(images, plan, DType::kBf16, rounds));
  for (const auto spoil : {+[](DirectWeightsPlan& p) { p.bufferC = true; },
                           +[](DirectWeightsPlan& p) { p.vectorize = WeightVectors::kTransposed; },
                           +[](DirectWeightsPlan& p) { p.reductionParts = 2; }}) {
    plan = wholeLine();
    spoil(plan);
    EXPECT_FALSE(direct(DType::kF32, plan, rounds));
  }
}

TEST(DirectWeights, ProgramsHaveNoAccumulatorsInMemory) {
  const Machine machine = hostOf(IsaLevel::kAvx512Bf16);
  for (const DType type : {DType::kF32, DType::kF16, DType::kBf16}) {
    DirectWeightsPlan plan = wholeLine();
    plan.vectorize = WeightVectors::kChannels;
    plan.registerRows = 6;
    plan.registerVectors = 2;
    plan.registerTaps = 1;
    plan.unroll = 4;
    plan.packA = type != DType::kF32;
    plan.packB = plan.packA ? PackVectors::kBlock : PackVectors::kNone;
    plan.dotProducts = type == DType::kBf16;
    const Problem p = pointwiseOf(type);
    EXPECT_EQ(checkPlan(p, plan, machine), std::vector<std::string>{});
    const Result<TileProgram> program = lower(p, plan, machine);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_TRUE(std::none_of(program->buffers.begin(), program->buffers.end(),
                             [](const Buffer& b) { return b.use == Buffer::Use::kShared; }));
    EXPECT_EQ(program->phases.size(), 1U) << "nothing is unpacked";
  }
}

}  // namespace
}  // namespace cubejit
