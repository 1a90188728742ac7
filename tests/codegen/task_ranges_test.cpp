// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a task's range hold every address of dy that its calls get, and hardly more?
#include "codegen/tile/task_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "algorithms/lower.h"
#include "codegen/tile/walk.h"
#include "cubejit/cubejit.hpp"
#include "runtime/problem_text.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// The plain reading: every call, one by one.
std::vector<TaskRange> walked(const Phase& phase, int buffer) {
  std::vector<TaskRange> ranges(static_cast<std::size_t>(taskCount(phase)));
  walkCalls(phase, [&](const CallSite& site) {
    const int streams[] = {site.call->a, site.call->b};
    for (std::size_t i = 0; i < 2; ++i) {
      if (streams[i] < 0 || phase.streams[static_cast<std::size_t>(streams[i])].buffer != buffer) continue;
      TaskRange& range = ranges[static_cast<std::size_t>(site.task)];
      for (const std::int64_t at : {site.at[i], site.at[i] + (site.repeat - 1) * site.repeatStep[i]})
        range = range.reads() ? TaskRange{std::min(range.lo, at), std::max(range.hi, at)} : TaskRange{at, at};
    }
    return true;
  });
  return ranges;
}

TEST(TaskRanges, HoldWhatCallsGet) {
  Machine machine = hostOf(IsaLevel::kAvx512);
  machine.buffers.l1Bytes = 16 << 10;  // so that small problems have many tasks
  std::mt19937_64 random(3);
  std::size_t exact = 0, tasks = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = randomProblem(random, 1e5);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(problem, pass, machine, false);
      ASSERT_TRUE(choice.ok());
      const auto program = lower(problem, choice->plan, machine);
      ASSERT_TRUE(program.ok());
      const auto dy = std::find_if(program->buffers.begin(), program->buffers.end(),
                                   [](const Buffer& buffer) { return buffer.boundName() == "dy"; });
      ASSERT_NE(dy, program->buffers.end());
      const auto buffer = static_cast<int>(dy - program->buffers.begin());
      for (const Phase& phase : program->phases) {
        const std::vector<TaskRange> ranges = taskRanges(phase, buffer), want = walked(phase, buffer);
        ASSERT_EQ(ranges.size(), want.size());
        for (std::size_t task = 0; task < want.size(); ++task) {
          if (!want[task].reads()) continue;
          ++tasks;
          ASSERT_LE(ranges[task].lo, want[task].lo) << toFlags(problem) << " " << phase.name << " " << task;
          ASSERT_GE(ranges[task].hi, want[task].hi) << toFlags(problem) << " " << phase.name << " " << task;
          exact += ranges[task] == want[task] ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(tasks, 1000U);
  EXPECT_GT(exact, tasks * 8 / 10) << "of " << tasks;
}

// One stream, one parallel axis that deals the steps of a loop out, one step that repeats.
TEST(TaskRanges, WindowsAndRepeats) {
  Phase phase;
  phase.streams = {{"dy", 0, 100}};
  Axis row;
  row.name = "row";
  for (const std::int64_t at : {0, 10, 20}) row.steps.push_back({{at}, 0, 1, {}});
  row.steps.push_back({{30}, 0, 4, {5}});
  row.windowAxis = 1;
  row.windows = {{0, 2}, {2, 4}, {4, 4}};
  Axis part;
  part.name = "part";
  part.classes = 3;
  for (int i = 0; i < 3; ++i) part.steps.push_back({{1000 * i}, i, 1, {}});
  phase.axes = {row, part};
  phase.parallelAxes = {1};
  phase.body = {Node{0, {Node{-1, {}, Call{"read", 0, -1, -1, {}, {Variant{0, -1, false}}}}}, {}}};
  EXPECT_EQ(taskRanges(phase, 0), (std::vector<TaskRange>{{100, 110}, {1120, 1145}, {}}));
  EXPECT_EQ(taskRanges(phase, 1), std::vector<TaskRange>(3)) << "a buffer that nobody reads";
}

}  // namespace
}  // namespace cubejit
