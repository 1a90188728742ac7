// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the text of a TileProgram is the one people and goldens expect, letter by letter, and says everything when full.
#include "codegen/tile/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TilePrint, Summary) {
  EXPECT_EQ(print(smallTileProgram()), R"(tile program small

buffers
  x (input): 288 bytes
  panel (shared): 256 bytes
  ramp (constant): 32 bytes = 1 2 3 4 ...
  dx (output): 320 bytes

kernels
  k0 contract tile: 2 accumulators of 8 lanes, 1 sections
    section 0: 1 steps, 3 fmas, 3 loads; a += 32, b += 0
  k1 copy pack: 4 x 8, pitch 36 -> 32, 8 lanes

lists
  l0 s0: (a+0 b+0 x8)

phase pack: 2 tasks over half
  stream src = x+0
  stream dst = panel+0
  axis half: 2 steps
    0..1: nothing, then src+144 dst+128 a step
  pack(src, -, dst) = k1

phase contract: 1 task
  stream a = panel+0
  stream b = ramp+0
  stream c = dx+0
  axis row: 2 steps of 2 classes
    0 class 0: nothing; x4 inside the kernel, a+4 c+64 each
    1 class 1: a+16 c+256
  for row
    contract(a, b, c) by the classes of row
      0 = k0 l0
      1 = k0 l0 acc
)");
}

TEST(TilePrint, FullContract) {
  Contract c = std::get<Contract>(smallTileProgram().kernels[0]);
  c.tables = {{7, 6, 5, 4, 3, 2, 1, 0}};
  c.accumulators[1].lanes = {0, 3};
  AOperand two;
  two.kind = AKind::kPermute2;
  two.offset = -8;
  two.offset2 = 64;
  two.lanes2 = {2, 4};
  two.table = 0;
  two.useLanes = {1, 8};
  two.uses = {{0, 0}};
  c.sections[0].steps[0].a.push_back(two);
  EXPECT_EQ(print(Kernel{c}, Detail::kFull), R"(contract tile: 2 accumulators of 8 lanes, 1 sections
    section 0: 1 steps, 4 fmas, 5 loads; a += 32, b += 0
      step 0
        b0 = load b+0
        bcast a+0 -> acc0*b0 acc1*b0
        bcast a+0 -> acc1*b0
        perm2 t0 a-8 a+64[2..4) ->[1..8) acc0*b0
    t0 = 7 6 5 4 3 2 1 0
    acc0 at c+0
    acc1 at c+32[0..3)
)");
}

TEST(TilePrint, SetsOfAccumulators) {
  Contract c = std::get<Contract>(smallTileProgram().kernels[0]);
  c.sets = 3;
  EXPECT_THAT(print(Kernel{c}, Detail::kSummary), HasSubstr("tile: 3 sets of 2 accumulators of 8 lanes"));
}

TEST(TilePrint, SummariesSayWhatTheyLeaveOut) {
  TileProgram program = smallTileProgram();
  for (std::int64_t n = 1; n < 9; ++n) program.lists.push_back({{{n, n * n, n}}});
  Axis& row = program.phases[1].axes[0];
  for (std::int64_t n = 1; n < 9; ++n) row.steps.push_back({{n * n, 0, 0}, 0, 1, {}});
  const std::string summary = print(program), full = print(program, Detail::kFull);
  EXPECT_THAT(summary, HasSubstr("  ... 9 in all\n"));
  EXPECT_THAT(summary, HasSubstr("    ... 4 more\n"));
  EXPECT_THAT(summary, Not(HasSubstr("a+49")));
  EXPECT_THAT(full, Not(HasSubstr("...")));
  EXPECT_THAT(full, HasSubstr("(a+8 b+64 x8)"));
  EXPECT_THAT(full, HasSubstr("a+49"));
}

TEST(TilePrint, WindowsAndVariantsWithoutAKernel) {
  TileProgram program = smallTileProgram();
  Phase& phase = program.phases[1];
  phase.axes.push_back({"part", 2, {{{0, 0, 0}, 0, 1, {}}, {{0, 0, 0}, 1, 1, {}}}, -1, {}});
  phase.parallelAxes = {1};
  phase.axes[0].windowAxis = 1;
  phase.axes[0].windows = {{0, 1}, {1, 2}};
  phase.body[0].body[0].call.variants[0].kernel = -1;
  const std::string text = print(program);
  EXPECT_THAT(text, HasSubstr("axis row: 2 steps of 2 classes, dealt by part\n"));
  EXPECT_THAT(text, HasSubstr("    window 1: [1, 2)\n"));
  EXPECT_THAT(text, HasSubstr("by the classes of row\n      1 = k0 l0 acc\n"));
}

}  // namespace
}  // namespace cubejit
