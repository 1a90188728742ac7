// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks sharing, partitions and folding of the builder on hand-made programs.
#include "algorithms/kit/lower/builder.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

TEST(ProgramBuilder, StoresEqualKernelsAndListsOnce) {
  ProgramBuilder b("p");
  const Fill zero{.rows = 4, .cols = 4}, wider{.rows = 4, .cols = 5};
  EXPECT_EQ(b.addKernel(zero), 0);
  EXPECT_EQ(b.addKernel(wider), 1);
  EXPECT_EQ(b.addKernel(zero), 0);
  EXPECT_EQ(b.addList({{Segment{1, 2, 3}}, {}}), 0);
  EXPECT_EQ(b.addList({{}, {Segment{1, 2, 3}}}), 1);
  EXPECT_EQ(b.addList({{Segment{1, 2, 3}}, {}}), 0);
  EXPECT_EQ(b.listAt(1), (SegmentList{{}, {Segment{1, 2, 3}}}));
  const TileProgram program = b.finish();
  EXPECT_EQ(program.kernels.size(), 2U);
  EXPECT_TRUE(program.lists.empty()) << "no call has them";
}

TEST(ProgramBuilder, DealsAreContiguousNearlyEqualAndComplete) {
  ProgramBuilder b("p");
  b.beginPhase("work");
  const int stream = b.addStream("s", b.addTensor(TensorId::kX, 400));
  const int axis = b.addUniformAxis("rows", 10, {{stream, 40}});
  const int partition = b.addPartition("cores", axis, 3);
  const Axis& source = b.phase().axes[static_cast<std::size_t>(axis)];
  EXPECT_EQ(source.windowAxis, partition);
  EXPECT_EQ(source.windows, (std::vector<Window>{{0, 3}, {3, 6}, {6, 10}}));
  EXPECT_EQ(b.axisSteps(partition), 3);
  const int first = b.addPartOfWindows("first", axis, 0, 1), others = b.addPartOfWindows("others", axis, 1, 0);
  const std::vector<Axis>& axes = b.phase().axes;
  EXPECT_EQ(axes[static_cast<std::size_t>(first)].windows, (std::vector<Window>{{0, 1}, {3, 4}, {6, 7}}));
  EXPECT_EQ(axes[static_cast<std::size_t>(others)].windows, (std::vector<Window>{{1, 3}, {4, 6}, {7, 10}}));
  EXPECT_EQ(axes[static_cast<std::size_t>(others)].windowAxis, partition);
}

TEST(ProgramBuilder, FoldsEvenStepsOfTheInnermostAxisOnly) {
  ProgramBuilder b("p");
  const int x = b.addTensor(TensorId::kX, 4000);
  b.beginPhase("work");
  const int stream = b.addStream("s", x);
  const int outer = b.addUniformAxis("outer", 4, {{stream, 400}});
  const int inner = b.addAxis("inner", 2);
  for (const std::int64_t at : {0, 8, 16, 24, 100}) b.addStep(inner, {{stream, at}});
  b.addStep(inner, {{stream, 176}}, 1);
  Call call;
  call.a = stream;
  call.variants.resize(1);
  b.phase().body = nest({outer, inner}, {callNode(call)});
  const TileProgram program = b.finish();
  EXPECT_EQ(program.phases[0].axes[0].steps.size(), 4U);
  const std::vector<AxisStep>& folded = program.phases[0].axes[1].steps;
  ASSERT_EQ(folded.size(), 3U);
  EXPECT_EQ(folded[0].repeat, 4);
  EXPECT_EQ(folded[0].repeatDelta, std::vector<std::int64_t>{8});
  EXPECT_EQ(folded[1].delta, std::vector<std::int64_t>{100});
  EXPECT_EQ(folded[1].repeat, 1);
  EXPECT_EQ(folded[2].cls, 1);
}

// A step, as whoever adds it sees it.
struct Added {
  std::array<std::int64_t, 2> delta{};
  int cls = 0;
  friend bool operator==(const Added& x, const Added& y) = default;
};

// Steps [begin, end) of the axis, one by one.
std::vector<Added> stepsIn(const Axis& axis, std::size_t begin, std::size_t end) {
  std::vector<Added> steps;
  for (std::size_t i = begin; i < end; ++i) {
    const AxisStep& step = axis.steps[i];
    for (std::int64_t r = 0; r < step.repeat; ++r) {
      Added one{{}, step.cls};
      for (std::size_t s = 0; s < 2; ++s) one.delta[s] = deltaOf(step.delta, s) + r * deltaOf(step.repeatDelta, s);
      steps.push_back(one);
    }
  }
  return steps;
}

TEST(ProgramBuilder, RunsAreTheStepsThatWereAdded) {
  std::mt19937 random(55);
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
  for (int i = 0; i < 3000; ++i) {
    ProgramBuilder b("p");
    b.beginPhase("work");
    const int x = b.addTensor(TensorId::kX, 4000);
    const std::array<int, 2> streams{b.addStream("s", x), b.addStream("t", x)};
    const int axis = b.addAxis("axis", 2);
    std::vector<Added> all;
    const auto at = [&](const Added& a) { return AxisDeltas{{streams[0], a.delta[0]}, {streams[1], a.delta[1]}}; };
    for (std::int64_t n = pick(1, 8); n > 0; --n) {
      const Added first{{pick(0, 3), pick(0, 1)}, static_cast<int>(pick(0, 1))};
      const std::int64_t step = pick(0, 1), count = pick(0, 4);
      if (pick(0, 1) == 0) {
        b.addSteps(axis, count, {{streams[0], first.delta[0]}, {streams[1], first.delta[1]}}, {{streams[0], step}},
                   first.cls);
        for (std::int64_t k = 0; k < count; ++k)
          all.push_back({{first.delta[0] + k * step, first.delta[1]}, first.cls});
      } else {
        b.addStep(axis, at(first), first.cls);
        all.push_back(first);
      }
    }
    if (!all.empty() && pick(0, 2) == 0) {
      const std::int64_t moved = pick(0, static_cast<int>(all.size()) - 1);
      b.moveStep(axis, moved, streams[1], 5);
      all[static_cast<std::size_t>(moved)].delta[1] += 5;
    }
    if (pick(0, 2) == 0) {
      b.moveSteps(axis, streams[1], 2);
      for (std::size_t k = 0; k < all.size(); ++k) all[k].delta[1] += 2 * static_cast<std::int64_t>(k);
    }
    ASSERT_EQ(b.axisSteps(axis), std::ssize(all));
    const int partition = pick(0, 1) == 0 ? b.addPartition("part", axis, pick(1, 3)) : -1;
    Call call;
    call.a = streams[0];
    call.variants.resize(1);
    const bool innermost = pick(0, 1) == 0;
    std::vector<Node> body(innermost ? 1 : 2, callNode(call));
    b.phase().body = nest({axis}, std::move(body));
    if (partition >= 0) {
      b.phase().parallelAxes = {partition};
      EXPECT_EQ(b.tasks(), b.axisSteps(partition));
    }
    const TileProgram program = b.finish();
    const Axis& made = program.phases[0].axes[static_cast<std::size_t>(axis)];
    std::vector<Added> steps;
    if (partition < 0) steps = stepsIn(made, 0, made.steps.size());
    for (const Window& w : made.windows) {
      const std::vector<Added> part = stepsIn(made, static_cast<std::size_t>(w.begin), static_cast<std::size_t>(w.end));
      const auto parts = std::ssize(made.windows), p = &w - made.windows.data();
      EXPECT_EQ(std::ssize(part), std::ssize(all) * (p + 1) / parts - std::ssize(all) * p / parts);
      steps.insert(steps.end(), part.begin(), part.end());
    }
    EXPECT_EQ(steps, all) << "case " << i;
    for (const AxisStep& step : made.steps) EXPECT_TRUE(innermost || step.repeat == 1) << "case " << i;
  }
}

TEST(ProgramBuilder, LongAxesTakeNoLongerThanShortOnes) {
  ProgramBuilder b("p");
  b.beginPhase("work");
  const int stream = b.addStream("s", b.addTensor(TensorId::kX, std::int64_t{1} << 40));
  const int axis = b.addAxis("axis");
  b.addSteps(axis, std::int64_t{1} << 30, {}, {{stream, 64}}, 0);
  Call call;
  call.a = stream;
  call.variants.resize(1);
  b.phase().body = nest({axis}, {callNode(call)});
  const TileProgram program = b.finish();
  ASSERT_EQ(program.phases[0].axes[0].steps.size(), 1U);
  EXPECT_EQ(program.phases[0].axes[0].steps[0].repeat, std::int64_t{1} << 30);
}

}  // namespace
}  // namespace cubejit
