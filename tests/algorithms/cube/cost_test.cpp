// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the cost model: a task followed by hand, waiting where buffers are single, and monotony in the machine.
#include "algorithms/cube/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/cube/task_times.h"
#include "cubejit/machines/toy.h"
#include "tests/algorithms/cube/cube_plans.h"

namespace cubejit {
namespace {

struct Hand {
  Machine machine = toyMachine();
  CubeWork work = cubeWorkOf(handProblem(), Pass::kDx, machine);
  TilingPlan plan = handPlan(work);
  TaskTimes times() const {
    return timesOf(work, plan, footprintOf(work, plan),
                   TaskExtents{plan.cube().singleShape.m, work.gemm.k, plan.cube().singleShape.n, 1}, machine);
  }
};

TEST(TaskTimes, ATaskByHand) {
  const Hand hand;
  const TaskTimes t = hand.times();
  // 64 x 576 x 32: 4 x 36 x 2 steps; 2 blocks of 12 base.k's, 16 cycles to issue each.
  EXPECT_DOUBLE_EQ(t.cube, 4 * 36 * 2 + 24 * 16);
  EXPECT_DOUBLE_EQ(t.load, 64.0 * 576 * 2 / 256 + 32.0 * 576 * 2 * 2 / 128 + 2 * 24 * 16);
  // Each of the 2 blocks brings 4 blocks of 16 channels of 4 rows of dy, and all of B.
  EXPECT_DOUBLE_EQ(t.bytesIn, 2.0 * 4 * 4 * 16 * 16 * 2 + 2.0 * 576 * 32 * 2);
  EXPECT_DOUBLE_EQ(t.stage, t.bytesIn / 64);
  EXPECT_DOUBLE_EQ(t.bytesOut, 64.0 * 32 * 2);
  EXPECT_DOUBLE_EQ(t.store, std::max(64.0 * 32 * 4 / 128, t.bytesOut / 64));
  EXPECT_DOUBLE_EQ(t.products, 64.0 * 32 * 576);
  EXPECT_GE(t.total, std::max({t.cube, t.load, t.stage}) + t.store);
}

TEST(TaskTimes, SingleBuffersWait) {
  Hand hand;
  const double doubled = hand.times().total;
  for (std::int64_t* buffers : {&hand.plan.cube().tile.buffersL0a, &hand.plan.cube().tile.buffersL0b,
                                &hand.plan.cube().tile.buffersA1, &hand.plan.cube().tile.buffersB1}) {
    *buffers = 1;
    EXPECT_GE(hand.times().total, doubled);
    *buffers = 2;
  }
  hand.plan.cube().tile.buffersA1 = hand.plan.cube().tile.buffersB1 = hand.plan.cube().tile.buffersL0a =
      hand.plan.cube().tile.buffersL0b = 1;
  const TaskTimes alone = hand.times();
  EXPECT_NEAR(alone.total, alone.cube + alone.load + alone.stage + alone.store + 300, 1e-6);
  hand.plan.cube().tile.buffersL0c = 2;
  EXPECT_LE(hand.times().total, alone.total);
}

TEST(TaskTimes, WholeKStaysInL1AsTheOrderSays) {
  Hand hand;
  hand.plan.cube().singleShape.n = 32;
  hand.plan.cube().tile.base.n = 16;
  hand.plan.cube().tile.stepKa = hand.plan.cube().tile.stepKb = 12;  // all of K
  hand.plan.cube().tile.order = BlockOrder::kNOuter;
  const double bOnce = hand.times().bytesIn;
  EXPECT_DOUBLE_EQ(bOnce, 2.0 * 2 * 4 * 4 * 16 * 16 * 2 + 576.0 * 32 * 2);  // A for each n, B once
  hand.plan.cube().tile.order = BlockOrder::kMOuter;
  EXPECT_DOUBLE_EQ(hand.times().bytesIn, 2.0 * 4 * 4 * 16 * 16 * 2 + 2 * 576.0 * 32 * 2);  // A once, B for each m
}

TEST(TaskTimes, NothingThatMeetsIsSkipped) {
  const Hand hand;
  const TaskTimes t =
      timesOf(hand.work, hand.plan, footprintOf(hand.work, hand.plan), TaskExtents{64, 576, 32, 0}, hand.machine);
  EXPECT_EQ(t.total, 0);
}

TEST(CubeCost, CoresAddUpAndTheSlowestSetsTheTime) {
  const Hand hand;
  const CubeCost cost = cubeCost(hand.work, hand.plan, hand.machine);
  EXPECT_EQ(cost.tasks, 4);
  const std::vector<double> cores = coreCycles(hand.work, hand.plan, hand.machine);
  ASSERT_EQ(cores.size(), 2U);
  EXPECT_NEAR(std::accumulate(cores.begin(), cores.end(), 0.0), cost.sums.total, 1e-6);
  EXPECT_DOUBLE_EQ(cost.slowestCore, *std::max_element(cores.begin(), cores.end()));
  EXPECT_NEAR(cost.slowestCore, 2 * hand.times().total, 1e-6);
  EXPECT_DOUBLE_EQ(cost.totalCycles, std::max(cost.slowestCore, cost.memoryCycles));
}

TEST(CubeCost, MoreOfAnythingNeverCostsMore) {
  const Hand hand;
  const double before = cubeCost(hand.work, hand.plan, hand.machine).totalCycles;
  double PathRates::* const rates[] = {&PathRates::ddrRead, &PathRates::ddrWrite, &PathRates::l2Read,
                                       &PathRates::l2Write, &PathRates::l1ToL0a,  &PathRates::l1ToL0b,
                                       &PathRates::l0cToUb};
  for (double PathRates::* const rate : rates) {
    Machine faster = hand.machine;
    faster.npu.paths.*rate *= 2;
    EXPECT_LE(cubeCost(hand.work, hand.plan, faster).totalCycles, before);
    faster.npu.paths.*rate /= 1000;
    EXPECT_GT(cubeCost(hand.work, hand.plan, faster).totalCycles, before);
  }
}

TEST(CubeCost, MemoryIsReadOnceWhereL2HoldsTheTensors) {
  Hand hand;
  const double held = cubeCost(hand.work, hand.plan, hand.machine).memoryCycles;
  const double once = hand.work.readBytes / (16 * 2) + hand.work.writtenBytes / (16 * 2);
  EXPECT_DOUBLE_EQ(held, once);
  hand.machine.buffers.l2Bytes = 0;
  EXPECT_GT(cubeCost(hand.work, hand.plan, hand.machine).memoryCycles, held);
}

TEST(CubeCost, ALimitStopsEarlyAndBoundsNameThePipe) {
  const Hand hand;
  const CubeCost cost = cubeCost(hand.work, hand.plan, hand.machine, 1);
  EXPECT_FALSE(cost.exact);
  EXPECT_GT(cost.totalCycles, 1);
  CubeCost told;
  told.slowestCore = 10;
  told.sums.stage = 5, told.sums.cube = 4;
  EXPECT_EQ(boundOf(told), "gm_to_l1");
  told.memoryCycles = 11;
  EXPECT_EQ(boundOf(told), "memory");
}

}  // namespace
}  // namespace cubejit
