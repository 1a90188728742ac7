// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether calls are walked in order with the right addresses, and whether the bytes a kernel is said to touch are those
// it touches.
#include "codegen/tile/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "codegen/tile/touch.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using testing::ElementsAre;

struct Seen {
  std::int64_t task, a, c, repeat;
  bool accumulate;
  friend bool operator==(const Seen& x, const Seen& y) = default;
};

std::vector<Seen> callsOf(const Phase& phase) {
  std::vector<Seen> seen;
  walkCalls(phase, [&](const CallSite& site) {
    seen.push_back({site.task, site.at[0], site.at[2], site.repeat, site.variant->accumulate});
    return true;
  });
  return seen;
}

TEST(TileWalk, TasksAndAddresses) {
  EXPECT_THAT(callsOf(smallTileProgram().phases[0]), ElementsAre(Seen{0, 0, 0, 1, false}, Seen{1, 144, 128, 1, false}));
}

TEST(TileWalk, ClassesPickVariantsAndStepsRepeat) {
  EXPECT_THAT(callsOf(smallTileProgram().phases[1]), ElementsAre(Seen{0, 0, 0, 4, false}, Seen{0, 16, 256, 1, true}));
}

TEST(TileWalk, WindowsDealStepsToTasks) {
  Phase phase = smallTileProgram().phases[1];
  phase.axes.push_back({"part", 2, {{{1000, 0, 0}, 0, 1, {}}, {{2000, 0, 0}, 1, 1, {}}}, -1, {}});
  phase.parallelAxes = {1};
  phase.axes[0].windowAxis = 1;
  phase.axes[0].windows = {{1, 2}, {0, 1}};
  EXPECT_THAT(callsOf(phase), ElementsAre(Seen{0, 1016, 256, 1, true}, Seen{1, 2000, 0, 4, false}));
}

TEST(TileWalk, SkipsVariantsWithoutAKernelAndStopsWhenTold) {
  Phase phase = smallTileProgram().phases[1];
  phase.body[0].body[0].call.variants[0].kernel = -1;
  EXPECT_THAT(callsOf(phase), ElementsAre(Seen{0, 16, 256, 1, true}));
  int calls = 0;
  EXPECT_FALSE(walkCalls(smallTileProgram().phases[0], [&](const CallSite&) { return ++calls < 1; }));
  EXPECT_EQ(calls, 1);
}

// The hull of what is visited is what `extents` says.
void agree(const Kernel& kernel, const SegmentList* list) {
  const std::array<ByteRange, 4> whole = extents(kernel, list);
  for (const CallOperand operand : {CallOperand::kA, CallOperand::kB, CallOperand::kC, CallOperand::kD}) {
    ByteRange hull{1, 0};
    visitTouched(kernel, list, operand, [&](ByteRange r) {
      hull = hull.empty() ? r : ByteRange{std::min(hull.begin, r.begin), std::max(hull.end, r.end)};
      return true;
    });
    const ByteRange& said = whole[static_cast<std::size_t>(operand)];
    EXPECT_TRUE(said == hull || (said.empty() && hull.empty()))
        << "operand " << static_cast<int>(operand) << ": [" << said.begin << ", " << said.end << ") and [" << hull.begin
        << ", " << hull.end << ")";
  }
}

TEST(TileTouch, Contracts) {
  Contract c = std::get<Contract>(smallTileProgram().kernels[0]);
  c.tables = {{0, 1, 2, 3, 4, 5, 6, 7}};
  AOperand two;
  two.kind = AKind::kPermute2;
  two.offset = 8;
  two.offset2 = -64;
  two.lanes2 = {3, 5};
  two.table = 0;
  two.uses = {{0, 0}};
  c.sections[0].steps[0].a.push_back(two);
  c.sections[0].aOuterStep = -32;
  c.sections[0].bOuterStep = 12;
  c.accumulators[1].lanes = {0, 3};
  const SegmentList list = {{{100, 0, 3}, {0, 40, 0}, {0, 400, 1}}};
  agree(c, &list);
  const std::array<ByteRange, 4> whole = extents(c, &list);
  EXPECT_EQ(whole[0], (ByteRange{-52, 140}));  // 100 - 2*32 or 0, from -64 + 12 on, up to 100 + 8 + 32
  EXPECT_EQ(whole[1], (ByteRange{0, 432}));
  EXPECT_EQ(whole[2], (ByteRange{0, 44}));
  EXPECT_TRUE(whole[3].empty());
  c.copiesB = true;
  agree(c, &list);
  EXPECT_EQ(extents(c, &list)[3], (ByteRange{0, 4 * 32}));  // a vector for each iteration, wherever it was read
  const SegmentList nothing = {{}};
  EXPECT_TRUE(extents(c, &nothing)[0].empty());
  c.result = Element::kBf16;
  agree(c, &list);
  c.sections[0].steps[0].a = {{.kind = AKind::kOne, .uses = {{0, 0}}}};
  agree(c, &list);
  EXPECT_TRUE(extents(c, &list)[0].empty());
}

TEST(TileTouch, Moves) {
  const Copy m{.lanes = 8, .rows = 3, .cols = 5, .srcPitch = 40, .dstPitch = -36, .padCols = 2};
  agree(m, nullptr);
  agree(turned(m), nullptr);
  agree(Fill{.lanes = 8, .rows = 3, .cols = 5, .dstPitch = -36}, nullptr);
  agree(Accumulate{.lanes = 8, .rows = 3, .cols = 5, .srcPitch = 40, .dstPitch = -36}, nullptr);
  agree(LaneReduce{.lanes = 8, .rows = 3, .srcPitch = 40}, nullptr);
  agree(Map{.lanes = 8, .rows = 3, .cols = 5, .srcPitch = 40, .dstPitch = -36, .padCols = 2}, nullptr);
  EXPECT_EQ(extents(turned(m), nullptr)[2], (ByteRange{-4 * 36, 20}));
}

}  // namespace
}  // namespace cubejit
