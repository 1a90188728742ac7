// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks when grouped plans apply, that they win where groups are small, and that costs move the right way.
#include "algorithms/grouped/grouped.h"

#include <gtest/gtest.h>

#include "algorithms/grouped/shape.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem grouped(std::int64_t groups, std::int64_t in, std::int64_t out, Layout layout) {
  return ofGroups(groups, inLayout(layout, squareProblem(2, groups * in, groups * out, 28)));
}

TEST(GroupedCandidates, ApplyToSmallGroupsOnly) {
  const Machine m = hostOf(IsaLevel::kAvx512);
  EXPECT_TRUE(groupedApplies(grouped(64, 1, 1, Layout::kNdhwc), m));
  EXPECT_TRUE(groupedApplies(grouped(64, 1, 2, Layout::kNdhwc), m));
  EXPECT_TRUE(groupedApplies(grouped(64, 16, 16, Layout::kNdhwc), m));
  EXPECT_FALSE(groupedApplies(grouped(64, 16, 16, Layout::kNdhwc), hostOf(IsaLevel::kAvx2)));
  EXPECT_FALSE(groupedApplies(grouped(64, 17, 1, Layout::kNdhwc), m));
  EXPECT_FALSE(groupedApplies(grouped(1, 4, 4, Layout::kNdhwc), m));
  EXPECT_TRUE(groupedDataCandidates(grouped(1, 4, 4, Layout::kNdhwc), m).empty());
}

// Columns innermost: a kernel goes from a block of rows to the next where both begin at the same place modulo the stride of dx.
TEST(GroupedCandidates, RowsBetweenStridesAreCalls) {
  const Machine m = hostOf(IsaLevel::kAvx512);
  const auto callCycles = [&](std::int64_t stride, std::int64_t rows) {
    GroupedDataPlan plan;
    plan.order = IterateOrder::kChannelsOuter;
    plan.registerH = rows;
    plan.registerW = 8;
    plan.registerTaps = 4;
    const Problem p = planeProblem(1, 16, 16, {1, 64, 64}, {1, 4, 4}, {0, 1, 1}, {1, stride, stride});
    return groupedDataCost(inLayout(Layout::kNdhwc, ofGroups(16, p)), plan, m).callCycles;
  };
  EXPECT_LT(callCycles(2, 2), 0.6 * callCycles(2, 1));
  EXPECT_LT(callCycles(2, 2), 0.6 * callCycles(2, 3));
  EXPECT_GT(callCycles(1, 2), 0.5 * callCycles(1, 1));
}

TEST(GroupedCandidates, WinForDepthwiseAndFewChannelsAGroup) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (const auto& [in, out] : {std::pair<int, int>{1, 1}, {2, 2}, {4, 4}, {1, 2}}) {
      for (const Pass pass : {Pass::kDx, Pass::kDw}) {
        const auto choice = choosePlan(grouped(64, in, out, Layout::kNdhwc), pass, hostOf(level), false);
        ASSERT_TRUE(choice.ok()) << choice.error().message;
        EXPECT_STREQ(algorithmName(choice->plan), "grouped") << in << " " << out << " " << toString(pass);
      }
    }
  }
}

// Blocked tensors are used where they lie, if their blocks hold whole groups; half a block of dx is cleared in depthwise layers only.
TEST(GroupedCandidates, BlockedTensorsAreNotConverted) {
  const Machine m = hostOf(IsaLevel::kAvx512Bf16);
  for (const DType type : {DType::kF16, DType::kBf16}) {
    for (const auto& [in, out] : {std::pair<int, int>{1, 1}, {4, 4}, {1, 2}}) {
      Problem p = grouped(64, in, out, Layout::kNdc1hwc0);
      p.dtype = type;
      for (const Pass pass : {Pass::kDx, Pass::kDw}) {
        const auto choice = choosePlan(p, pass, m, false);
        ASSERT_TRUE(choice.ok()) << choice.error().message;
        EXPECT_STREQ(algorithmName(choice->plan), "grouped") << in << " " << out << " " << toString(pass);
        EXPECT_FALSE(choice->plan.reorders.dy || choice->plan.reorders.x) << in << " " << out << " " << toString(pass);
        EXPECT_EQ(choice->plan.reorders.result, pass == Pass::kDw) << in << " " << out;
      }
    }
  }
  Problem half = grouped(24, 1, 1, Layout::kNdc1hwc0);
  half.dtype = DType::kBf16;
  EXPECT_FALSE(choosePlan(half, Pass::kDx, m, false)->plan.reorders.result);
  EXPECT_FALSE(choosePlan(half, Pass::kDw, m, false)->plan.reorders.x);
  half.cout = 48;
  EXPECT_TRUE(choosePlan(half, Pass::kDx, m, false)->plan.reorders.result);
}

// What is multiplied may have a panel if every channel would convert it anew; a result is converted as it is stored, unless that
// takes many instructions.
TEST(GroupedCandidates, PanelsAreForWhatIsConvertedManyTimes) {
  using Panel = GroupPanel;
  struct Case {
    DType type;
    IsaLevel isa;
    Layout layout;
    std::int64_t channels;
    Panel operand;
  };
  for (const Case& c : {Case{DType::kF32, IsaLevel::kAvx512, Layout::kNdhwc, 4, Panel::kNever},
                        Case{DType::kF32, IsaLevel::kAvx512, Layout::kNcdhw, 4, Panel::kMust},
                        Case{DType::kF16, IsaLevel::kAvx512, Layout::kNdhwc, 4, Panel::kMay},
                        Case{DType::kF16, IsaLevel::kAvx512, Layout::kNdhwc, 1, Panel::kNever},
                        Case{DType::kF16, IsaLevel::kAvx512, Layout::kNcdhw, 4, Panel::kMust},
                        Case{DType::kBf16, IsaLevel::kAvx512Bf16, Layout::kNdhwc, 4, Panel::kMay},
                        Case{DType::kBf16, IsaLevel::kAvx512, Layout::kNdhwc, 4, Panel::kMay}}) {
    Problem p = grouped(64, c.channels, c.channels, c.layout);
    p.dtype = c.type;
    const Machine m = hostOf(c.isa);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      bool with = false, without = false, wholePixels = false;
      for (const TilingPlan& plan : proposedPlans("grouped", p, pass, m)) {
        if (plan.reorders.dy || plan.reorders.x) continue;
        for (const std::string& rule : checkPlan(p, plan, m))
          EXPECT_TRUE(rule.find("pack_") == std::string::npos && rule.find("buffer_") == std::string::npos) << rule;
        (fieldOf(plan, "pack_a") == 1 ? with : without) = true;
        wholePixels |= fieldOf(plan, "group_parts") == 1;
      }
      EXPECT_EQ(with, c.operand != Panel::kNever) << toString(c.type) << toString(pass);
      EXPECT_EQ(without, c.operand != Panel::kMust) << toString(c.type) << toString(pass);
      EXPECT_TRUE(wholePixels);  // all channels of some rows: kernels walk along them
    }
  }
}

TEST(GroupedCost, MoreWorkCostsMoreAndIdleLanesCost) {
  const Machine m = hostOf(IsaLevel::kAvx512);
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    const auto plans = proposedPlans("grouped", grouped(64, 1, 1, Layout::kNdhwc), pass, m);
    ASSERT_FALSE(plans.empty());
    for (const TilingPlan& plan : plans) {
      const double small = planCost(grouped(64, 1, 1, Layout::kNdhwc), plan, m).totalCycles;
      EXPECT_GT(small, 0);
      EXPECT_GT(planCost(grouped(128, 1, 1, Layout::kNdhwc), plan, m).totalCycles, 1.3 * small);
      EXPECT_DOUBLE_EQ(planCost(grouped(49, 1, 1, Layout::kNdhwc), plan, m).computeCycles,
                       planCost(grouped(64, 1, 1, Layout::kNdhwc), plan, m).computeCycles);
    }
  }
}

}  // namespace
}  // namespace cubejit
