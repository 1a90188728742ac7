// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that candidates of the spatial algorithm use what tiles of several rows share.
#include "algorithms/spatial/spatial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "algorithms/kit/reorder.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// One channel a group fills registers with rows of H: each operand row that is loaded then serves several.
TEST(DataPixels, DepthwiseTilesHaveRows) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  Problem p = layer(Layout::kNcdhw);
  p.groups = p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 56, 56};
  std::int64_t most = 1;
  double one = 0, many = 0;
  for (const SpatialDataPlan& plan : spatialDataCandidates(p, machine)) {
    EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
    most = std::max(most, plan.registerH);
    if (plan.registerVectors != 4 || (plan.registerH != 1 && plan.registerH != 4)) continue;
    double& least = plan.registerH == 1 ? one : many;
    const double cycles = spatialDataCost(p, plan, machine).totalCycles;
    least = least == 0 ? cycles : std::min(least, cycles);
  }
  EXPECT_GE(most, 6);
  EXPECT_LT(many, 0.7 * one);  // measured: 0.45
}

TEST(WeightPixels, AreForFewPairsOfChannelsOutOfPlainTensors) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  Problem p = layer(Layout::kNcdhw);
  EXPECT_TRUE(spatialWeightsCandidates(p, machine).empty());  // 64 x 64 pairs
  p.groups = 64;
  const std::vector<SpatialWeightsPlan> plans = spatialWeightsCandidates(p, machine);
  ASSERT_FALSE(plans.empty());
  double one = 0, many = 0;
  for (const SpatialWeightsPlan& plan : plans) {
    EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
    const double cycles = spatialWeightsCost(p, plan, machine).totalCycles;
    EXPECT_GT(cycles, 0);
    double& least = plan.registerH == 1 ? one : many;
    least = least == 0 ? cycles : std::min(least, cycles);
  }
  EXPECT_LT(many, one);  // rows share vectors of x
  p.layout = Layout::kNdhwc;
  EXPECT_TRUE(spatialWeightsCandidates(p, machine).empty());
}

}  // namespace
}  // namespace cubejit
