// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether every emitted byte decodes, whether AVX2 programs stay clear of AVX-512, and what a listing shows.
#include "codegen/disassemble.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "codegen/backend.h"
#include "codegen/vector/legalize.h"
#include "tests/support/random_vector_program.h"

namespace cubejit {
namespace {

std::string listing(const VectorProgram& program, bool annotated) {
  const auto code = emitXbyak(program);
  EXPECT_TRUE(code.ok()) << code.error().message;
  const auto text = disassemble(*code, annotated ? &program : nullptr);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? *text : "";
}

TEST(Disassemble, RandomProgramsDecodeAndStayInTheirIsa) {
  const std::regex wide("zmm|\\bk[0-7]\\b|[xy]mm(1[6-9]|2[0-9]|3[01])");
  std::mt19937 rng(5);
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    for (int n = 0; n < 40; ++n) {
      const auto legal = legalize(randomVectorProgram(rng, isaOf(level), {}));
      ASSERT_TRUE(legal.ok()) << legal.error().message;
      const std::string text = listing(*legal, false);
      EXPECT_EQ(std::regex_search(text, wide), level == IsaLevel::kAvx512) << text;
      EXPECT_NE(text.find("endbr64"), std::string::npos);
      EXPECT_NE(text.find("vzeroupper"), std::string::npos);
    }
  }
}

TEST(Disassemble, Avx512BroadcastsLeaveTheFloatPipesAlone) {
  VectorProgram p;
  p.name = "broadcast";
  p.isa = avx512Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kBroadcast, .dst = 0, .mem = {0, 4}},
            {.op = VOp::kFmaBroadcast, .dst = 0, .src1 = 0, .mem = {0, 8}}};
  const std::string text = listing(p, false);
  EXPECT_NE(text.find("vpbroadcastd"), std::string::npos) << text;
  EXPECT_EQ(text.find("vbroadcastss"), std::string::npos) << text;
  EXPECT_NE(text.find("{1to16}"), std::string::npos) << text;
}

TEST(Disassemble, ListingsShowCommentsInstructionsAndConstants) {
  VectorProgram p;
  p.name = "shown";
  p.isa = avx2Isa();
  p.constants = {{7, 6, 5, 4, 3, 2, 1, 0}};
  p.code = {{.op = VOp::kArg, .dst = 3, .imm = 2},
            {.op = VOp::kConst, .dst = 1, .imm = 0},
            {.op = VOp::kStore, .src1 = 1, .mem = {3, 32}}};
  p.comments = {{1, "the reversing table"}};
  const std::string text = listing(p, true);
  for (const char* part :
       {"; shown for avx2", "; the reversing table", ";   const v1, c0", "vmovups", ".long 7", ".long 0"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Disassemble, BytesThatAreNoInstructionAreAnError) {
  Code code;
  code.name = "noise";
  code.isa = avx2Isa();
  code.bytes = {std::byte{0x06}, std::byte{0x06}};
  code.instructionBytes = 2;
  const auto text = disassemble(code, nullptr);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("offset 0"), std::string::npos);
}

}  // namespace
}  // namespace cubejit
