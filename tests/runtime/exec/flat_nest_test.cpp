// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: which loops become lists of calls, and are the lists those calls in order? That walks make the right calls is launch_test's.
#include "runtime/exec/flat_nest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/kit/lower/builder.h"

namespace cubejit {
namespace {

using testing::ElementsAre;

// A phase of one stream; its calls have two variants on axis 0.
class Nest {
 public:
  Nest() {
    phase_.streams.push_back(Stream{"s", 0, 0});
    phase_.parallelAxes.push_back(axis("part", 2, 0));
  }
  int axis(const char* name, int steps, std::int64_t bytes) {
    Axis axis;
    axis.name = name;
    axis.classes = 2;
    for (int i = 0; i < steps; ++i) {
      AxisStep step;
      step.delta = {i * bytes};
      step.cls = i % 2;
      axis.steps.push_back(step);
    }
    phase_.axes.push_back(axis);
    return static_cast<int>(phase_.axes.size()) - 1;
  }
  // Half of the steps for each part.
  int windowed(const char* name, int steps, std::int64_t bytes) {
    const int made = axis(name, steps, bytes);
    Axis& a = phase_.axes[static_cast<std::size_t>(made)];
    a.windowAxis = 0;
    a.windows = {{0, steps / 2}, {steps / 2, steps}};
    return made;
  }
  static Node call(const char* name, std::vector<int> classAxes = {}) {
    Call c;
    c.name = name;
    c.c = 0;
    c.classAxes = std::move(classAxes);
    c.variants.resize(std::size_t{1} << c.classAxes.size());
    return callNode(std::move(c));
  }
  FlatNests flat(Node node) {
    phase_.body.push_back(std::move(node));
    return flatten(phase_);
  }

  Phase phase_;
};

// (site, c, variant) of each step.
std::vector<std::tuple<std::size_t, std::int64_t, std::size_t>> stepsOf(const FlatNode& list) {
  std::vector<std::tuple<std::size_t, std::int64_t, std::size_t>> out;
  for (const CallStep& step : list.steps) out.emplace_back(step.site, step.c, step.variant);
  return out;
}

TEST(FlatNest, LoopsAroundACallAreOneList) {
  Nest n;
  const int outer = n.axis("outer", 2, 100), inner = n.axis("inner", 3, 1);
  const FlatNests flat = n.flat(loopNode(outer, {loopNode(inner, {Nest::call("k", {0, outer, inner})})}));
  ASSERT_EQ(flat.body.size(), 1U);
  const FlatNode& list = flat.body.front();
  EXPECT_TRUE(list.list() && list.body.empty());
  EXPECT_THAT(stepsOf(list), ElementsAre(std::tuple(0, 0, 0), std::tuple(0, 1, 1), std::tuple(0, 2, 0),
                                         std::tuple(0, 100, 2), std::tuple(0, 101, 3), std::tuple(0, 102, 2)));
  EXPECT_THAT(list.sites.front().outer, ElementsAre(std::pair(0, 4)));  // the task's class counts when it is known
}

TEST(FlatNest, ABodyOfSeveralCallsKeepsItsOrder) {
  Nest n;
  const int rows = n.axis("rows", 2, 100), taps = n.axis("taps", 2, 1);
  const FlatNests flat =
      n.flat(loopNode(rows, {loopNode(taps, {Nest::call("contract")}), Nest::call("unpack", {rows})}));
  const FlatNode& list = flat.body.front();
  EXPECT_THAT(stepsOf(list), ElementsAre(std::tuple(0, 0, 0), std::tuple(0, 1, 0), std::tuple(1, 0, 0),
                                         std::tuple(0, 100, 0), std::tuple(0, 101, 0), std::tuple(1, 100, 1)));
  EXPECT_EQ(list.perStep, 3U);
}

TEST(FlatNest, StepsOfAWindowAreAListButNotPartOfAnother) {
  Nest n;
  const int outer = n.axis("outer", 2, 100), dealt = n.windowed("dealt", 4, 10), taps = n.axis("taps", 3, 1);
  const FlatNests flat = n.flat(loopNode(outer, {loopNode(dealt, {loopNode(taps, {Nest::call("k")})})}));
  const FlatNode& loop = flat.body.front();
  ASSERT_FALSE(loop.list());
  ASSERT_EQ(loop.body.size(), 1U);
  EXPECT_TRUE(loop.body.front().list());
  EXPECT_EQ(loop.body.front().axis, dealt);
  EXPECT_EQ(loop.body.front().perStep, 3U);
  EXPECT_EQ(loop.body.front().steps.size(), 12U);
}

TEST(FlatNest, WindowsOfAllStepsAreNone) {
  Nest n;
  const int outer = n.axis("outer", 2, 100), dealt = n.windowed("dealt", 2, 10), taps = n.axis("taps", 1, 0);
  n.phase_.axes[static_cast<std::size_t>(dealt)].windows = {{0, 2}, {0, 2}};
  const FlatNests flat = n.flat(loopNode(outer, {loopNode(dealt, {loopNode(taps, {Nest::call("k")})})}));
  ASSERT_EQ(flat.body.size(), 1U);
  EXPECT_THAT(stepsOf(flat.body.front()),
              ElementsAre(std::tuple(0, 0, 0), std::tuple(0, 10, 0), std::tuple(0, 100, 0), std::tuple(0, 110, 0)));
}

TEST(FlatNest, LongListsStayLoops) {
  Nest n;
  const int outer = n.axis("outer", 100, 100), inner = n.axis("inner", 100, 1);
  const FlatNests flat = n.flat(loopNode(outer, {loopNode(inner, {Nest::call("k")})}));
  ASSERT_FALSE(flat.body.front().list());
  EXPECT_EQ(flat.body.front().body.front().steps.size(), 100U);
}

TEST(FlatNest, RepetitionsAreTheStep) {
  Nest n;
  const int rows = n.axis("rows", 2, 100);
  AxisStep& step = n.phase_.axes[static_cast<std::size_t>(rows)].steps.back();
  step.repeat = 5;
  step.repeatDelta = {7};
  const FlatNests flat = n.flat(loopNode(rows, {Nest::call("k")}));
  EXPECT_EQ(flat.body.front().steps[0].repeat, 1);
  EXPECT_EQ(flat.body.front().steps[1].repeat, 5);
  EXPECT_EQ(flat.body.front().steps[1].cRepeat, 7);
}

}  // namespace
}  // namespace cubejit
