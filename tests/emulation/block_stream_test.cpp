// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a core's program visits the blocks of a task in the tiling's order, loads what the tiling says once, and that the clock
// overlaps what is doubled; and that tasks cover a gradient once.
#include "algorithms/cube/block_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "algorithms/cube/gradient_tasks.h"
#include "algorithms/cube/unit_program.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "emulation/clock.h"
#include "tests/support/layers.h"
#include "tests/support/unit_clock.h"
#include "tests/support/unit_models/operand_tables.h"

namespace cubejit {
namespace {

Problem smallProblem() { return ofType(DType::kF16, problemOf(2, 64, 32, {3, 8, 8}, {2, 1, 1}, {0, 0, 0})); }

// dX in blocks of 32 x 32: 2 x 2 of them a task.
CubeJob jobOf(BlockOrder order, std::int64_t buffers) {
  const Machine machine = *machineByName("ascend910b2");
  const Problem p = smallProblem();
  TilingPlan plan = planOnNpu(p, Pass::kDx, machine)->plan;
  plan.cube().singleShape = {64, 32 * 2, 64};
  plan.cube().tile.base = {32, 16, 32};
  plan.cube().tile.stepM = plan.cube().tile.stepN = plan.cube().tile.stepKa = 1;
  plan.cube().tile.stepKb = 2;
  plan.cube().tile.buffersL0a = plan.cube().tile.buffersL0b = plan.cube().tile.buffersA1 = plan.cube().tile.buffersB1 =
      buffers;
  plan.cube().tile.buffersL0c = 1;
  plan.cube().tile.order = order;
  auto job = makeCubeJob(p, plan, machine);
  EXPECT_TRUE(job.ok()) << job.error().message;
  return *job;
}

std::vector<std::pair<std::int64_t, std::int64_t>> visits(const CubeJob& job, const CoreTask& task) {
  BlockStream stream(job, task);
  CubeBlock block;
  UnitProgram program;
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
  while (stream.next(block, program)) seen.emplace_back(block.mIndex, block.nIndex);
  return seen;
}

TEST(BlockStream, BlocksComeInTheOrderOfTheTiling) {
  using Visits = std::vector<std::pair<std::int64_t, std::int64_t>>;
  CubeJob job = jobOf(BlockOrder::kNOuter, 2);
  CoreTask task;
  task.depth = 1;
  task.extent = job.plan.cube().singleShape;
  EXPECT_EQ(visits(job, task), (Visits{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ(visits(jobOf(BlockOrder::kMOuter, 2), task), (Visits{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  task.extent.m = 40;  // a tail of one row
  const auto tails = visits(job, task);
  EXPECT_EQ(tails.size(), 4U);
  // Steps: within 2 x 2 blocks first, then the next step.
  job.plan.cube().tile.base.m = 16;
  job.plan.cube().tile.stepM = job.plan.cube().tile.stepN = 2;
  task.extent.m = 64;
  EXPECT_EQ(visits(job, task), (Visits{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {3, 0}, {2, 1}, {3, 1}}));
}

TEST(BlockStream, BlocksOfL1AreLoadedOnceAndDepthsThatDoNotMeetAreSkipped) {
  const CubeJob job = jobOf(BlockOrder::kNOuter, 2);
  CoreTask task;
  task.extent = job.plan.cube().singleShape;
  for (const auto& [depth, meets] : {std::pair<std::int64_t, std::size_t>{0, 1}, {1, 2}, {2, 1}}) {
    task.depth = depth;
    EXPECT_EQ(meetingDepths(job, task).size(), meets);
    BlockStream stream(job, task);
    CubeBlock block;
    UnitProgram program;
    ASSERT_TRUE(stream.next(block, program));
    std::size_t images = 0, weights = 0, mmads = 0;
    for (const UnitInstruction& i : program) {
      images += std::holds_alternative<LoadImage>(i) ? 1 : 0;
      weights += std::holds_alternative<LoadWeights>(i) ? 1 : 0;
      mmads += std::holds_alternative<Mmad>(i) ? 1 : 0;
    }
    EXPECT_EQ(images, 2 * meets);  // stepKa = 1: one for each base.k
    EXPECT_EQ(weights, meets);     // stepKb = 2: all of K at once
    EXPECT_EQ(mmads, 2 * meets);
    EXPECT_THAT(toString(program.back()), ::testing::HasSubstr("mmad l0a"));
    EXPECT_THAT(toString(program.front()), ::testing::StartsWith("gm_to_l1 image l1 0"));
  }
}

TEST(Clock, DoubledBuffersOverlapAndSingleOnesWait) {
  double cycles[2];
  for (const std::int64_t buffers : {1, 2}) {
    const CubeJob job = jobOf(BlockOrder::kNOuter, buffers);
    OperandTables tables;
    CoreTask task;
    task.depth = 1;
    task.extent = job.plan.cube().singleShape;
    BlockStream stream(job, task);
    Clock clock(job.machine, job.work.type);
    clock.keepEvents(true);
    CoreCounts counts;
    CubeBlock block;
    UnitProgram program;
    while (stream.next(block, program)) {
      for (const UnitInstruction& i : program) runOn(clock, i, UnitContext{job.work, tables}, counts);
      clock.moveOut(stream.l0c(), block.m * block.n, block.m * block.n, block.m * block.n * 2, counts);
    }
    cycles[buffers - 1] = clock.now();
    EXPECT_EQ(counts.cubeSteps, 4 * 2 * 2 * 2 * 2);  // blocks, depths, base.k's, 2 x 2 fractals
    EXPECT_EQ(counts.bytes[static_cast<std::size_t>(Path::kL0cToGm)], 64 * 64 * 2);
    // No pipe does two things at once.
    std::array<double, kPipes> end{};
    for (const TraceEvent& e : clock.events()) {
      EXPECT_GE(e.start, end[static_cast<std::size_t>(e.pipe)]);
      end[static_cast<std::size_t>(e.pipe)] = e.end;
    }
  }
  EXPECT_LT(cycles[1], cycles[0]);
}

TEST(Clock, APartIsFilledWhenWhatReadsItIsDone) {
  const Machine machine = *machineByName("toy");
  Clock clock(machine, machine.npu.cube.products.front().operand);
  clock.keepEvents(true);
  CoreCounts counts;
  clock.load("a", 0, 512, counts);
  clock.load("b", 4096, 512, counts);
  clock.fill("fill a", CoreBuffer::kL0a, 0, 0, 512, counts);
  clock.fill("fill b", CoreBuffer::kL0b, 0, 4096, 512, counts);
  clock.multiply("mmad", 0, 0, 0, 100'000, true, counts);
  clock.fill("fill a again", CoreBuffer::kL0a, 0, 0, 512, counts);
  clock.load("a again", 0, 512, counts);
  const auto& events = clock.events();
  EXPECT_GE(events[2].start, events[0].end);
  EXPECT_GE(events[4].start, events[3].end);
  EXPECT_GE(events[5].start, events[4].end) << "L0A still has what is multiplied";
  EXPECT_GE(events[6].start, events[5].end) << "L1 still has what L0A is filled with";
}

TEST(GradientTasks, CoverTheGradientOnceInRegionsThatAddUpInOrder) {
  const CubeJob job = jobOf(BlockOrder::kNOuter, 2);
  const GradientTasks tasks(job);
  EXPECT_EQ(tasks.count(), 2 * 3);  // images x depths
  EXPECT_EQ(tasks.sums(), 1);
  Problem p = smallProblem();
  const Machine machine = *machineByName("toy");
  const auto report = planOnNpu(p, Pass::kDw, machine);
  ASSERT_TRUE(report.ok());
  const auto dw = makeCubeJob(p, report->plan, machine);
  ASSERT_TRUE(dw.ok());
  const GradientTasks parts(*dw);
  EXPECT_EQ(parts.count(), report->tasks);
  std::set<std::int64_t> seen;
  int lastCore = 0;
  for (std::int64_t region = 0; region < parts.regions(); ++region) {
    for (std::int64_t s = 0; s < parts.sums(); ++s) seen.insert(parts.taskOf(region, s));
  }
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), parts.count());
  EXPECT_EQ(*seen.rbegin(), parts.count() - 1);
  for (std::int64_t i = 0; i < parts.count(); ++i) {
    EXPECT_GE(parts.coreOf(i), lastCore);
    lastCore = parts.coreOf(i);
  }
  EXPECT_LT(lastCore, machine.cores);
}

}  // namespace
}  // namespace cubejit
