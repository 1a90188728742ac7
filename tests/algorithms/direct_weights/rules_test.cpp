// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of the direct weight gradient can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/direct_weights/direct_weights.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(DirectWeightsRules, ReductionBlocksAreWhole) {
  DirectWeightsPlan block;
  block.reduction.h = 9;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), block, kAvx512),
              Contains(HasSubstr("reduction_h = 9 is more than the 8")));
  block.reduction.h = 8;
  block.reduction.d = 2;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), block, kAvx512), Contains(HasSubstr("reduction_d = 2")));
  block.reduction.d = 1;
  block.reduction.h = 4;
  block.reduction.n = 2;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), block, kAvx512), Contains(HasSubstr("needs whole images")));
}

TEST(DirectWeightsRules, RegistersAreCounted) {
  const Problem last = convolution(Layout::kNdhwc);
  DirectWeightsPlan weights;
  weights.registerRows = 4;
  weights.registerTaps = 3;
  weights.registerVectors = 3;  // 36 + 2
  EXPECT_THAT(checkPlan(last, weights, kAvx512), Contains(HasSubstr("needs 38")));
  weights.registerVectors = 1;  // 12 + 2
  EXPECT_THAT(checkPlan(last, weights, kAvx512), IsEmpty());
  weights.vectorize = WeightVectors::kTransposed;  // one vector for all rows, which none is left out of
  weights.registerRows = 10;
  EXPECT_THAT(checkPlan(last, weights, kAvx512), IsEmpty());
}

TEST(DirectWeightsRules, PackingOnFirstUseIsForOneTap) {
  DirectWeightsPlan weights;
  weights.packB = PackVectors::kFirstUse;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), weights, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 3), weights, kAvx512),
              Contains(HasSubstr("pack_b = first_use needs one tap")));
}

TEST(DirectWeightsRules, PrivateSumsAreComplete) {
  DirectWeightsPlan weights;
  weights.bufferC = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), weights, kAvx512), IsEmpty());
  weights.reductionParts = 2;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), weights, kAvx512),
              Contains(HasSubstr("reduction_parts must be 1")));
}

TEST(DirectWeightsRules, TapsAlongWLieSideBySide) {
  Problem p = convolution(Layout::kNdhwc);
  p.cin = 20;  // 3 x 20 lanes
  DirectWeightsPlan weights;
  weights.vectorize = WeightVectors::kKernelWidth;
  weights.registerVectors = 4;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), IsEmpty());
  weights.registerVectors = 2;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), Contains(HasSubstr("register_vectors = 2 must be 4")));
  weights.registerVectors = 4;
  weights.registerTaps = 3;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), Contains(HasSubstr("register_taps must be 1")));
  weights.registerTaps = 1;
  Problem apart = p;
  apart.dilation = Dhw{1, 2, 2};
  apart.padBefore = apart.padAfter = Dhw{0, 2, 2};
  EXPECT_THAT(checkPlan(apart, weights, kAvx512), Contains(HasSubstr("dilation 2")));
  Problem groups = p;
  groups.cin = groups.cout = 40;
  groups.groups = 2;
  EXPECT_THAT(checkPlan(groups, weights, kAvx512), Contains(HasSubstr("pack_b must be block")));
  weights.packB = PackVectors::kBlock;
  EXPECT_THAT(checkPlan(groups, weights, kAvx512), IsEmpty());
}

TEST(DirectWeightsRules, PlainTensorsNeedPanels) {
  const Problem plain = convolution(Layout::kNcdhw);
  DirectWeightsPlan weights;
  EXPECT_THAT(checkPlan(plain, weights, kAvx512), Contains(HasSubstr("pack_b must be block")));
  weights.packB = PackVectors::kBlock;
  EXPECT_THAT(checkPlan(plain, weights, kAvx512), IsEmpty());
}

TEST(DirectWeightsRules, RegisterBlocksStayWithinADisplacement) {
  Problem p = convolution(Layout::kNcdhw);
  p.in = p.out = Dhw{1, 8, 1 << 24};  // channels 512 MiB apart
  DirectWeightsPlan weights;
  weights.packB = PackVectors::kBlock;
  weights.registerRows = 4;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), Contains(HasSubstr("rows of a register block span")));
}

TEST(DirectWeightsRules, ResultsArePrefetchedWhereSumsAreStoredDirectly) {
  DirectWeightsPlan plan;
  plan.prefetchResults = false;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), plan, kAvx512), IsEmpty());
  plan.reductionParts = 4;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), plan, kAvx512),
              ElementsAre(HasSubstr("prefetch_results must")));
}

}  // namespace
}  // namespace cubejit
