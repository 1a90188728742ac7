// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks when lane-wise plans apply, that they win where groups are small, and that costs move the right way.
#include "tiling/cells_candidates.h"

#include <gtest/gtest.h>

#include "tests/support/host.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem grouped(std::int64_t groups, std::int64_t in, std::int64_t out, Layout layout) {
  Problem p;
  p.rank = 2;
  p.batch = 2;
  p.groups = groups;
  p.cin = groups * in;
  p.cout = groups * out;
  p.in = p.out = Dhw{1, 28, 28};
  p.kernel = Dhw{1, 3, 3};
  p.stride = p.dilation = Dhw{1, 1, 1};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.layout = layout;
  return p;
}

TEST(CellsCandidates, ApplyToSmallGroupsOnly) {
  const Machine m = hostOf(IsaLevel::kAvx512);
  EXPECT_TRUE(cellsApply(grouped(64, 1, 1, Layout::kNdhwc), m));
  EXPECT_TRUE(cellsApply(grouped(64, 1, 2, Layout::kNdhwc), m));
  EXPECT_TRUE(cellsApply(grouped(64, 16, 16, Layout::kNdhwc), m));
  EXPECT_FALSE(cellsApply(grouped(64, 16, 16, Layout::kNdhwc), hostOf(IsaLevel::kAvx2)));
  EXPECT_FALSE(cellsApply(grouped(64, 17, 1, Layout::kNdhwc), m));
  EXPECT_FALSE(cellsApply(grouped(1, 4, 4, Layout::kNdhwc), m));
  EXPECT_TRUE(cellsCandidates(grouped(64, 1, 1, Layout::kNdhwc), Gradient::kDb, m).empty());
}

TEST(CellsCandidates, WinForDepthwiseAndFewChannelsAGroup) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (const auto& [in, out] : {std::pair<int, int>{1, 1}, {2, 2}, {4, 4}, {1, 2}}) {
      for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
        const auto choice = choosePlan(grouped(64, in, out, Layout::kNdhwc), gradient, hostOf(level), false);
        ASSERT_TRUE(choice.ok()) << choice.error().message;
        EXPECT_EQ(choice->plan.lanes, LaneRole::kGroupCells) << in << " " << out << " " << toString(gradient);
      }
    }
  }
}

TEST(CellsCost, MoreWorkCostsMoreAndIdleLanesCost) {
  const Machine m = hostOf(IsaLevel::kAvx512);
  for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
    const auto plans = cellsCandidates(grouped(64, 1, 1, Layout::kNdhwc), gradient, m);
    for (const TilingPlan& plan : plans) {
      const double small = cellsCost(grouped(64, 1, 1, Layout::kNdhwc), plan, m).totalCycles;
      EXPECT_GT(small, 0);
      EXPECT_GT(cellsCost(grouped(128, 1, 1, Layout::kNdhwc), plan, m).totalCycles, 1.3 * small);
      EXPECT_DOUBLE_EQ(cellsCost(grouped(49, 1, 1, Layout::kNdhwc), plan, m).computeCycles,
                       cellsCost(grouped(64, 1, 1, Layout::kNdhwc), plan, m).computeCycles);
    }
  }
}

}  // namespace
}  // namespace cubejit
