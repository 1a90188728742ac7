// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the text of a TileProgram is the one people and goldens expect, letter by letter. Whether it says everything: tile_parse_test.
#include "codegen/tile/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TilePrint, Summary) {
  EXPECT_EQ(print(smallTileProgram()), R"(cubejit tile 1
program small

buffer x input 288
buffer panel shared 256
buffer ramp constant 32 = 1 2 3 4 ...
buffer dx output 320

k0 contract tile lanes 8
  acc ... 2
  section a+32 b+0 ... 1 steps, 3 fmas, 3 loads
k1 copy pack lanes 8 rows 4 cols 8 src_pitch 36 dst_pitch 32

l0 s: (a+0 b+0 x8)

phase pack
  stream src = x
  stream dst = panel
  axis half: +0, repeat 2: src+144 dst+128
  parallel half
  call pack(src, -, dst) = k1

phase contract
  stream a = panel
  stream b = ramp
  stream c = dx
  axis row classes 2: class 0 inside 4: a+4 c+64 | class 1 a+16 c+256
  for row
    call contract(a, b, c) by row
      * = k0 l0 | k0 l0 acc
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
  EXPECT_EQ(print(Kernel{c}, Detail::kFull), R"(contract tile lanes 8
  acc c+0
  acc c+32[0..3)
  table 7 6 5 4 3 2 1 0
  section a+32 b+0  ; 1 steps, 4 fmas, 5 loads
    step
      load b+0
      bcast a+0 -> acc0*b0 acc1*b0
      bcast a+0 -> acc1*b0
      perm2 t0 a-8 a+64[2..4) ->[1..8) acc0*b0
)");
}

TEST(TilePrint, MaximaOfVectors) {
  Contract c = std::get<Contract>(smallTileProgram().kernels[0]);
  c.combine = Combine::kMax;
  c.sections[0].steps[0].a = {{.kind = AKind::kOne, .useLanes = {0, 3}, .uses = {{0, 0}, {1, 0}}}};
  EXPECT_EQ(print(Kernel{c}, Detail::kFull), R"(contract tile lanes 8 combine max
  acc c+0, repeat 2: c+32
  section a+32 b+0  ; 1 steps, 2 maxima, 1 loads
    step
      load b+0
      one ->[0..3) acc0*b0 acc1*b0
)");
}

TEST(TilePrint, SetsOfAccumulators) {
  Contract c = std::get<Contract>(smallTileProgram().kernels[0]);
  c.sets = 3;
  EXPECT_THAT(print(Kernel{c}, Detail::kSummary), HasSubstr("contract tile lanes 8 sets 3\n"));
}

TEST(TilePrint, SummariesSayWhatTheyLeaveOut) {
  TileProgram program = smallTileProgram();
  for (std::int64_t n = 1; n < 9; ++n) program.lists.push_back({{{n, n * n, n}}});
  Axis& row = program.phases[1].axes[0];
  for (std::int64_t n = 1; n < 9; ++n) row.steps.push_back({{n * n, 0, 0}, 0, 1, {}});
  const std::string summary = print(program), full = print(program, Detail::kFull);
  EXPECT_THAT(summary, HasSubstr("\n... 9 lists\n"));
  EXPECT_THAT(summary, HasSubstr(" | ... 6 more\n"));
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
  EXPECT_THAT(text, HasSubstr("  windows row by part: 0..1 | 1..2\n"));
  EXPECT_THAT(text, HasSubstr("by row\n      * = - l0 | k0 l0 acc\n"));
}

}  // namespace
}  // namespace cubejit
