// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of small groups can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/grouped/grouped.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GroupedRules, PlainTensorsNeedPanels) {
  Problem depthwise = convolution(Layout::kNcdhw);
  depthwise.groups = 32;
  const auto dx = checkPlan(depthwise, GroupedDataPlan{}, kAvx512),
             dw = checkPlan(depthwise, GroupedWeightsPlan{}, kAvx512);
  EXPECT_THAT(dx, Contains(HasSubstr("pack_a must be true")));
  EXPECT_THAT(dw, AllOf(Contains(HasSubstr("pack_a must be true")), Contains(HasSubstr("pack_b must be true"))));
}

TEST(GroupedRules, GroupsFitVectors) {
  const Problem dense = convolution(Layout::kNdhwc);  // 32 channels
  EXPECT_THAT(checkPlan(dense, GroupedDataPlan{}, kAvx512), Contains(HasSubstr("does not fit vectors of 16 lanes")));
  EXPECT_THAT(checkPlan(dense, GroupedWeightsPlan{}, kAvx512), Contains(HasSubstr("does not fit vectors of 16 lanes")));
}

TEST(GroupedRules, BlockedTensors) {
  Problem p = convolution(Layout::kNdc1hwc0);
  p.groups = 32;
  p.dtype = DType::kF16;
  TilingPlan dw = GroupedWeightsPlan{}, dx = GroupedDataPlan{};
  dw.reorders.result = dx.reorders.w = true;
  EXPECT_THAT(checkPlan(p, dw, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, dx, kAvx512), IsEmpty());
  dw.as<GroupedWeightsPlan>().registerVectors = 2;
  EXPECT_THAT(checkPlan(p, dw, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, dw, kAvx2), ElementsAre(HasSubstr("register_vectors must be 1")));
  dw.as<GroupedWeightsPlan>().packA = true;
  EXPECT_THAT(checkPlan(p, dw, kAvx512), ElementsAre(HasSubstr("pack_a must be false")));
  p.dtype = DType::kBf16;
  EXPECT_THAT(checkPlan(p, dx, kAvx512), ElementsAre(AllOf(HasSubstr("reorder_result"), HasSubstr("no instruction"))));
  p.cin = p.cout = p.groups = 24;  // a block and a half
  p.dtype = DType::kF16;
  EXPECT_THAT(checkPlan(p, dx, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, dx, kAvx2), ElementsAre(HasSubstr("the last block of dx has 8 of 16 channels")));
  p.cout = 48;
  EXPECT_THAT(checkPlan(p, dx, kAvx512), Contains(HasSubstr("reorder_result must be true")));
}

TEST(GroupedRules, BlocksStayWithinADisplacement) {
  Problem p = convolution(Layout::kNdhwc);
  p.groups = p.cin = p.cout = 4096;
  p.in = p.out = Dhw{1, 64, 40000};
  GroupedWeightsPlan flat;
  EXPECT_THAT(checkPlan(p, flat, kAvx512), ElementsAre(HasSubstr("reduction_parts = 1 must be at least 86")));
  flat.reductionParts = 86;
  EXPECT_THAT(checkPlan(p, flat, kAvx512), IsEmpty());
  GroupedWeightsPlan tall = flat;
  tall.registerTapsH = 3;
  EXPECT_THAT(checkPlan(p, tall, kAvx512), Contains(HasSubstr("displacement")));
}

}  // namespace
}  // namespace cubejit
