// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a search over an NPU's plans begin with the planner's choice, are all of them legal, and do costs agree with reports?
#include "algorithms/cube/space.h"

#include <gtest/gtest.h>

#include "cubejit/machines.h"
#include "cubejit/machines/toy.h"
#include "cubejit/npu.h"
#include "tests/algorithms/cube/cube_plans.h"
#include "tiling/legal_plans.h"

namespace cubejit {
namespace {

TEST(CubeSpace, HoldsTheLegalCandidatesCheapestFirst) {
  for (const Machine& m : {toyMachine(), *machineByName("ascend910b2")}) {
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      NpuPlanOptions explained;
      explained.explain = true;
      const auto report = planOnNpu(handProblem(), pass, m, explained);
      ASSERT_TRUE(report.ok());
      const auto plans = legalPlans(handProblem(), pass, m);
      ASSERT_TRUE(plans.ok());
      EXPECT_GT(plans->size(), 10U);
      EXPECT_LE(plans->back().cost.totalCycles, 1.25 * report->predictedCycles);
      EXPECT_EQ(plans->front().cost.totalCycles, report->predictedCycles);
      EXPECT_EQ(plans->front().plan.cube().tile.base, report->plan.cube().tile.base);
      double before = 0;
      for (const Candidate& c : *plans) {
        EXPECT_TRUE(checkPlan(handProblem(), c.plan, m).empty());
        EXPECT_GE(c.cost.totalCycles, before);
        before = c.cost.totalCycles;
      }
      EXPECT_EQ(planCost(handProblem(), plans->back().plan, m).totalCycles,
                reportOnNpu(handProblem(), plans->back().plan, m)->predictedCycles);
    }
  }
}

TEST(CubeSpace, TheSplitFollowsTheSingleShape) {
  const Machine m = toyMachine();
  TilingPlan plan = planOnNpu(handProblem(), Pass::kDx, m)->plan;
  const std::int64_t row = handProblem().in.w;
  plan.cube().singleShape.m = plan.cube().singleShape.m == row ? 2 * row : row;
  EXPECT_FALSE(checkPlan(handProblem(), plan, m).empty());
  EXPECT_TRUE(checkPlan(handProblem(), completed(handProblem(), plan, m), m).empty());
}

TEST(CubeSpace, NoSingleShapeIsLargerThanTheGradient) {
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    const auto plans = legalPlans(handProblem(), pass, toyMachine()).value();
    for (std::size_t i = 0; i < plans.size(); i += 7) {
      EXPECT_EQ(completed(handProblem(), plans[i].plan, toyMachine()).cube().singleShape,
                plans[i].plan.cube().singleShape)
          << i;
      TilingPlan larger = plans[i].plan;
      larger.cube().singleShape.m *= 3;
      larger.cube().singleShape.k *= 3;
      larger.cube().singleShape.n *= 3;
      larger = completed(handProblem(), larger, toyMachine());
      TilingPlan whole = plans[i].plan;
      whole.cube().singleShape = {1 << 20, 1 << 20, 1 << 20};
      whole = completed(handProblem(), whole, toyMachine());
      EXPECT_LE(larger.cube().singleShape.k, whole.cube().singleShape.k);
      EXPECT_LT(whole.cube().singleShape.k, 1 << 20);
    }
  }
}

TEST(CubeSpace, ASumHasOnePlan) {
  const auto plans = legalPlans(handProblem(), Pass::kDb, toyMachine());
  ASSERT_TRUE(plans.ok());
  ASSERT_EQ(plans->size(), 1U);
  EXPECT_EQ(plans->front().plan.pass, Pass::kDb);
  EXPECT_GT(plans->front().cost.totalCycles, 0);
}

}  // namespace
}  // namespace cubejit
