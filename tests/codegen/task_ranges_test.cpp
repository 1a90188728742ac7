// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a task's range hold every address of dy that its calls get, and hardly more?
#include "codegen/tile/task_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cubejit {
namespace {

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
