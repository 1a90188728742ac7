// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks sharing, partitions and folding of the builder on hand-made programs.
#include "algorithms/kit/lower/builder.h"

#include <gtest/gtest.h>

namespace cubejit {
namespace {

TEST(ProgramBuilder, StoresEqualKernelsAndListsOnce) {
  ProgramBuilder b("p");
  Move zero;
  zero.kind = MoveKind::kZero;
  zero.rows = zero.cols = 4;
  Move wider = zero;
  wider.cols = 5;
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
  const int stream = b.addStream("s", b.addBuffer("x", BufferRole::kX, 400));
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
  const int x = b.addBuffer("x", BufferRole::kX, 4000);
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

}  // namespace
}  // namespace cubejit
