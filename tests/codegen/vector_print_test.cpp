// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the text of a program is the documented one.
#include "codegen/vector/print.h"

#include <gtest/gtest.h>

namespace cubejit {
namespace {

TEST(VectorPrint, ShowsHeaderConstantsLoopsAndComments) {
  VectorProgram p;
  p.name = "tiny";
  p.isa = avx2Isa();
  p.constants = {{0, 1, 2, 3, 4, 5, 6, -7}};
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 4},
            {.op = VOp::kMaskRange, .dst = 2, .imm = 1 | 6 << 8},
            {.op = VOp::kConst, .dst = 3, .imm = 0},
            {.op = VOp::kLoop, .dst = 1},
            {.op = VOp::kLoad, .dst = 4, .mask = 2, .mem = {0, -32}},
            {.op = VOp::kFma, .dst = 4, .src1 = 3, .src2 = 4, .mask = 2},
            {.op = VOp::kStore, .src1 = 4, .mask = 2, .mem = {0, 64}},
            {.op = VOp::kAddImm, .dst = 0, .src1 = 0, .imm = 32},
            {.op = VOp::kEndLoop}};
  p.comments = {{0, "arguments"}, {5, "body"}, {10, "done"}};
  EXPECT_EQ(print(p),
            "cubejit vector 1\n"
            "tiny for avx2\n"
            "c0 = 0 1 2 3 4 5 6 -7\n"
            "  ; arguments\n"
            "  arg s0, a\n"
            "  arg s1, repeat\n"
            "  mask k2, [1..6)\n"
            "  const v3, c0\n"
            "  loop s1\n"
            "    ; body\n"
            "    load v4 {k2}, [s0 - 32]\n"
            "    fma v4 {k2}, v3, v4\n"
            "    store [s0 + 64] {k2}, v4\n"
            "    add.i s0, s0, 32\n"
            "  endloop\n"
            "  ; done\n");
}

}  // namespace
}  // namespace cubejit
