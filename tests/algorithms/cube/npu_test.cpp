// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of planning for NPUs as callers see it: one door with the host's planner, reports whose parts agree.
#include "cubejit/npu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/cube/report.h"
#include "cubejit/machines.h"
#include "cubejit/machines/toy.h"
#include "tests/algorithms/cube/cube_plans.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Npu, TheHostsDoorLeadsToThePlanner) {
  const auto choice = choosePlan(handProblem(), Pass::kDx, toyMachine(), true);
  const auto report = planOnNpu(handProblem(), Pass::kDx, toyMachine());
  ASSERT_TRUE(choice.ok() && report.ok());
  EXPECT_TRUE(choice->plan.is<CubePlan>());
  EXPECT_EQ(choice->cost.totalCycles, report->predictedCycles);
  EXPECT_EQ(choice->plan.cube().tile.base, report->plan.cube().tile.base);
  EXPECT_FALSE(choice->considered.empty());
  EXPECT_TRUE(checkPlan(handProblem(), choice->plan, toyMachine()).empty());
  const Machine host = hostMachine(avx512Isa(), 2, 0, 0, 0);
  EXPECT_THAT(checkPlan(handProblem(), choice->plan, host),
              ElementsAre(HasSubstr("the algorithm cube, which host has not")));
}

TEST(Npu, AReportsPartsAgree) {
  const Machine m = *machineByName("ascend910b2");
  Problem p = handProblem();
  p.cin = 3, p.stride = Dhw{1, 2, 2}, p.out = Dhw{1, 4, 8};
  NpuPlanOptions options;
  options.explain = true;
  const auto r = planOnNpu(p, Pass::kDx, m, options);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->coreCycles.size(), 24U);
  EXPECT_GE(r->predictedCycles, *std::max_element(r->coreCycles.begin(), r->coreCycles.end()));
  EXPECT_DOUBLE_EQ(r->predictedMicroseconds, r->predictedCycles / 1800);
  for (const BufferUse& b : r->buffers) EXPECT_LE(b.usedBytes, b.capacityBytes) << b.buffer;
  EXPECT_LT(r->usefulShare, 0.1);  // 3 of 16 channels, a quarter of the spread pixels
  EXPECT_THAT(r->better, Contains(HasSubstr("dy is spread by stride 2 x 2; cin = 3 fills 19 %")));
  EXPECT_THAT(r->better, Contains(HasSubstr("cores have no task")));
  const auto again = reportOnNpu(p, r->plan, m);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->predictedCycles, r->predictedCycles);
}

TEST(Npu, MoreCoresHelpWhereTheCubeIsTheLimit) {
  Problem p = handProblem();
  p.batch = 8, p.cin = p.cout = 256, p.in = p.out = Dhw{1, 64, 64};
  NpuPlanOptions options;
  options.explain = true;
  const auto r = planOnNpu(p, Pass::kDx, *machineByName("ascend910b2"), options);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->bound, "cube");
  ASSERT_FALSE(r->better.empty());
  EXPECT_THAT(r->better.front(), HasSubstr("twice the cores"));
}

TEST(Npu, PlansOfTheCallersAreChecked) {
  const Machine m = toyMachine();
  TilingPlan plan = planOnNpu(handProblem(), Pass::kDw, m)->plan;
  plan.cube().tile.stepKa = 100000;
  EXPECT_THAT(checkOnNpu(handProblem(), plan, m), Contains(HasSubstr("lower step_ka")));
  const auto refused = reportOnNpu(handProblem(), plan, m);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidProblem);
  EXPECT_THAT(checkOnNpu(handProblem(), plan, hostMachine(avx512Isa(), 2, 0, 0, 0)),
              ElementsAre(HasSubstr("host has no cube")));
}

TEST(Npu, AMachineOfTheCallersIsCheckedFirst) {
  Machine m = toyMachine();
  m.npu.paths.ddrRead = 0;
  const auto refused = planOnNpu(handProblem(), Pass::kDx, m);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("rates.ddr_read"));
}

TEST(CubeReport, ProductsAreCountedAsTheArithmeticDoes) {
  EXPECT_EQ(productsNeeded(handProblem()), 2.0 * 64 * 32 * 9 * 8 * 16);
  Problem p = handProblem();
  p.groups = 2;
  EXPECT_EQ(productsNeeded(p), 2.0 * 64 * 16 * 9 * 8 * 16);
}

}  // namespace
}  // namespace cubejit
