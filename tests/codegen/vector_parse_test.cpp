// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the text of a VectorProgram is the program, for every op of ops.def, and whether errors say where and what.
#include "codegen/vector/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "codegen/vector/legalize.h"
#include "codegen/vector/op_table.h"
#include "codegen/vector/print.h"
#include "codegen/vector/verify.h"
#include "tests/support/random_vector_program.h"

namespace cubejit {
namespace {

using testing::HasSubstr;

void expectReadsBack(const VectorProgram& program) {
  const std::string text = print(program);
  const auto read = parseVectorProgram(text);
  ASSERT_TRUE(read.ok()) << read.error().message << "\n" << text;
  EXPECT_TRUE(*read == program) << text;
}

// Operands of each kind at both ends of their ranges.
TEST(VectorParse, EveryOpReadsBack) {
  for (std::size_t op = 0; op < kOpCount; ++op) {
    const OpRow& row = kOpRows[op];
    for (const bool most : {false, true}) {
      const auto number = [&](OperandKind kind, int last) {
        return static_cast<std::int8_t>(kind == OperandKind::N ? -1 : most ? last : 0);
      };
      VInstr i{.op = static_cast<VOp>(op)};
      i.dst = number(row.dst, 127), i.src1 = number(row.src1, 126), i.src2 = number(row.src2, 125),
      i.src3 = number(row.src3, 124);
      if (row.mask == MaskUse::M) i.mask = most ? 7 : -1;
      if (row.mem != MemUse::N) i.mem = most ? Mem{11, INT32_MIN} : Mem{0, INT32_MAX};
      if (row.imm == ImmKind::I) i.imm = most ? INT64_MIN : INT64_MAX;
      if (row.imm == ImmKind::A) i.imm = most ? 11 : 0;
      if (row.imm == ImmKind::C) i.imm = most ? INT32_MAX : 0;
      if (row.imm == ImmKind::L) i.imm = most ? 3 | 16 << 8 : 1 << 8;
      expectReadsBack({"op", avx512Isa(), {i}, {}, {}});
    }
  }
}

TEST(VectorParse, RandomProgramsReadBack) {
  std::mt19937 random(17);
  for (const IsaLevel level : kAllIsaLevels) {
    RandomShape shape;
    shape.vectors = mostRandomVectors(isaOf(level));
    for (int i = 0; i < 40; ++i) {
      const VectorProgram program = randomVectorProgram(random, isaOf(level), shape);
      expectReadsBack(program);
      const auto legal = legalize(program);
      ASSERT_TRUE(legal.ok());
      expectReadsBack(*legal);
    }
  }
}

TEST(VectorParse, NamesCommentsConstantsAndIsasReadBack) {
  VectorProgram p{"a name\nof two lines", avx512Isa(), {}, {}, {}};
  p.isa.vectorBits = 256;
  p.isa.embeddedBroadcast = false;
  p.isa.maskRegs = 3;
  p.constants = {{1, -2, INT32_MIN, INT32_MAX}, {}};
  p.code = {{.op = VOp::kSet, .dst = 0, .imm = 1}, {.op = VOp::kStreamFence}};
  p.comments = {{0, "plain, of c0 = 1; and more"}, {0, ""}, {1, " blanks "}, {1, "two\nlines"}, {2, "\"quoted\""}};
  expectReadsBack(p);
}

struct WrongVector {
  const char *text, *error;
};

TEST(VectorParse, ErrorsSayWhereAndWhat) {
  const std::string head = "cubejit vector 1\np for avx2\n";
  const WrongVector cases[] = {
      {"  zoro v0\n", "line 3, column 3: expected an instruction, got 'zoro'"},
      {"  zero\n", "line 3, column 7: expected a register, vN, got the end of the line"},
      {"  zero s0\n", "line 3, column 8: expected a register, vN, got 's0'"},
      {"  zero v300\n", "line 3, column 9: expected a register, vN: 300 is not in [0, 127]"},
      {"  zero v1, v2\n", "line 3, column 10: expected the end of the line, got ','"},
      {"  add.f v1 v2, v3\n", "line 3, column 12: expected ',', got 'v2'"},
      {"  load v1 {v2}, [s0]\n", "expected a mask, kN, got 'v2'"},
      {"  bcast v1 {k2}, [s0]\n", "expected ',', got '{'"},
      {"  load v1, [s0 + 3000000000]\n", "expected an offset: 3000000000 is not in [0, 2147483647]"},
      {"  arg s1, e\n", "expected an argument of kernels, got 'e'"},
      {"c1 = 3\n", "expected the next constant: 1 is not in [0, 0]"},
      {"c0 = 3000000000\n", "expected a word of 32 bits: 3000000000 is not in"},
      {"  set s1, 1.5\n", "expected the end of the line, got '.5'"}};
  for (const WrongVector& c : cases) {
    const auto read = parseVectorProgram(head + c.text);
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_EQ(read.error().stage, Stage::kVector);
    EXPECT_THAT(read.error().message, HasSubstr(c.error)) << c.text;
  }
  EXPECT_THAT(parseVectorProgram("cubejit vector 1\np for avx3").error().message,
              HasSubstr("line 2, column 7: expected one of avx2, avx512, avx512_bf16, avx512_amx, avx512_amx_fp16, "
                        "neon, sve256, got 'avx3'"));
  EXPECT_THAT(parseVectorProgram("").error().message,
              HasSubstr("line 1, column 1: expected 'cubejit', got the end of the text"));
  const auto version = parseVectorProgram("cubejit vector 9\n");
  EXPECT_EQ(version.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(version.error().message, HasSubstr("the text is cubejit vector 9; this reads 1"));
}

// Registers that are never written, loops that are never closed: read, for verify() to refuse.
TEST(VectorParse, UnsoundProgramsAreReadAndThenRefused) {
  const auto read = parseVectorProgram("cubejit vector 1\np for avx2\n  loop s3\n  add.f v1, v2, v99\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(verify(*read).ok());
}

TEST(VectorParse, LongTextsOfNothingAreRefusedQuickly) {
  for (const std::string& piece : {std::string("x"), std::string("c"), std::string("[s0"), std::string("\"")}) {
    std::string text = "cubejit vector 1\np for avx2\n";
    while (text.size() < (10U << 20)) text += piece;
    EXPECT_FALSE(parseVectorProgram(text).ok()) << piece;
  }
}

}  // namespace
}  // namespace cubejit
