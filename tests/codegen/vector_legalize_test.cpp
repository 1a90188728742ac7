// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks what legalize leaves behind: legal ops only, the same meaning (see backends_test), and an honest error.
#include "codegen/vector/legalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "codegen/vector/liveness.h"
#include "codegen/vector/print.h"
#include "codegen/vector/verify.h"
#include "tests/support/random_arena.h"
#include "tests/support/random_vector_program.h"

namespace cubejit {
namespace {

bool allLegal(const VectorProgram& p) {
  return std::all_of(p.code.begin(), p.code.end(), [&](const VInstr& i) { return isLegal(i, p.isa); });
}

TEST(VectorLegalize, WordsOfTwoVectorsComeWithDotProducts) {
  const VInstr permute{.op = VOp::kPermuteWords2, .dst = 0, .src1 = 1, .src2 = 2, .src3 = 3};
  const VInstr whole{.op = VOp::kLoadWords, .dst = 0, .mem = {0, 0}, .imm = 16 << 8};
  const VInstr part{.op = VOp::kLoadWords, .dst = 0, .mem = {0, 0}, .imm = 15 << 8};
  EXPECT_TRUE(isLegal(permute, avx512Bf16Isa()) && isLegal(whole, avx512Bf16Isa()));
  EXPECT_FALSE(isLegal(permute, avx512Isa()) || isLegal(whole, avx512Isa()));
  EXPECT_FALSE(isLegal(part, avx512Bf16Isa()));  // no opmasks, no way to leave a word alone
}

TEST(VectorLegalize, DotProductsOfBytesComeWithThoseOfBf16) {
  const VInstr dot{.op = VOp::kDotI8, .dst = 0, .src1 = 1, .src2 = 2};
  const VInstr read{.op = VOp::kDotI8Load, .dst = 0, .src1 = 1, .mem = {0, 0}};
  const VInstr bytes{.op = VOp::kLoadI8, .dst = 0, .mask = 1, .mem = {0, 0}};
  EXPECT_TRUE(isLegal(dot, avx512Bf16Isa()) && isLegal(read, avx512Bf16Isa()));
  EXPECT_FALSE(isLegal(dot, avx512Isa()) || isLegal(read, avx2Isa()) || isLegal(read, neonIsa()));
  EXPECT_TRUE(isLegal(bytes, avx512Isa()) && isLegal(bytes, sve256Isa()));
  EXPECT_FALSE(isLegal(bytes, avx2Isa()));  // they are loaded one by one
}

TEST(VectorLegalize, RandomProgramsBecomeLegalAndStaySo) {
  std::mt19937 rng(13);
  for (const IsaLevel level : kAllIsaLevels) {
    RandomShape shape;
    shape.vectors = mostRandomVectors(isaOf(level));
    for (int n = 0; n < 300; ++n) {
      const VectorProgram p = randomVectorProgram(rng, isaOf(level), shape);
      const auto once = legalize(p);
      ASSERT_TRUE(once.ok()) << once.error().message;
      EXPECT_TRUE(allLegal(*once)) << print(*once);
      EXPECT_TRUE(verify(*once).ok());
      const auto twice = legalize(*once);
      ASSERT_TRUE(twice.ok());
      EXPECT_EQ(*once, *twice);
    }
  }
}

// On every ISA, whatever this machine has: interpreters do not need it.
TEST(VectorLegalize, RandomProgramsKeepTheirMeaning) {
  std::mt19937 rng(19);
  for (const IsaLevel level : kAllIsaLevels) {
    const int most = mostRandomVectors(isaOf(level));
    for (unsigned n = 0; n < 300; ++n) {
      RandomShape shape;
      shape.vectors = 2 + static_cast<int>(rng() % static_cast<unsigned>(most - 1));
      const VectorProgram p = randomVectorProgram(rng, isaOf(level), shape);
      const auto legal = legalize(p);
      ASSERT_TRUE(legal.ok()) << legal.error().message;
      RandomArena arena(n);
      ASSERT_TRUE(leavesTheSame(p, *legal, arena));
    }
  }
}

TEST(VectorLegalize, Avx512ProgramsPassThrough) {
  std::mt19937 rng(17);
  for (int n = 0; n < 50; ++n) {
    const VectorProgram p = randomVectorProgram(rng, avx512Isa(), {});
    const auto legal = legalize(p);
    ASSERT_TRUE(legal.ok());
    EXPECT_EQ(*legal, p);
  }
}

// All 16 registers hold values that are stored at the end.
VectorProgram fullRegisters(VInstr instr) {
  VectorProgram p;
  p.name = "full";
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2}, {.op = VOp::kMaskRange, .dst = 1, .imm = 3 << 8}};
  for (std::int8_t v = 0; v < 16; ++v) p.code.push_back({.op = VOp::kZero, .dst = v});
  p.comments = {{static_cast<std::int32_t>(p.code.size()), "here"}};
  p.code.push_back(instr);
  for (std::int8_t v = 0; v < 16; ++v) p.code.push_back({.op = VOp::kStore, .src1 = v, .mem = {0, v * 32}});
  return p;
}

TEST(VectorLegalize, SaysHowManyRegistersAreMissing) {
  const auto one = legalize(fullRegisters({.op = VOp::kFmaBroadcast, .dst = 1, .src1 = 2, .mem = {0, 4}}));
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(one.error().message.find("needs 1 more scratch"), std::string::npos) << one.error().message;
  const auto three = legalize(fullRegisters({.op = VOp::kFmaBroadcast, .dst = 1, .src1 = 2, .mask = 1, .mem = {0, 4}}));
  ASSERT_FALSE(three.ok());
  EXPECT_NE(three.error().message.find("needs 3 more scratch"), std::string::npos) << three.error().message;
}

TEST(VectorLegalize, MaskedLoadsNeedNoScratch) {
  const auto legal = legalize(fullRegisters({.op = VOp::kLoad, .dst = 1, .mask = 1, .mem = {0, 4}}));
  ASSERT_TRUE(legal.ok()) << legal.error().message;
  const std::string text = print(*legal);
  EXPECT_NE(text.find("  ; here\n  const v1, c0\n  load.mv v1, v1, [s0 + 4]\n"), std::string::npos) << text;
}

TEST(VectorLegalize, MasksKeepARegisterWhileThereAreUnusedOnes) {
  VectorProgram p;
  p.name = "kept";
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},
            {.op = VOp::kMaskRange, .dst = 1, .imm = 3 << 8},
            {.op = VOp::kSet, .dst = 1, .imm = 4},
            {.op = VOp::kLoop, .dst = 1},
            {.op = VOp::kLoad, .dst = 0, .mask = 1, .mem = {0, 4}},
            {.op = VOp::kStore, .src1 = 0, .mask = 1, .mem = {0, 64}},
            {.op = VOp::kEndLoop}};
  const auto legal = legalize(p);
  ASSERT_TRUE(legal.ok());
  EXPECT_EQ(std::count_if(legal->code.begin(), legal->code.end(), [](const VInstr& i) { return i.op == VOp::kConst; }),
            1)
      << print(*legal);
}

// Loads v1 under a mask, does `then`, and stores the sums v0 and v3; all values are those that arithmetic treats specially.
VectorProgram maskedSums(std::vector<VInstr> then) {
  VectorProgram p;
  p.name = "sums";
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 2},
            {.op = VOp::kMaskRange, .dst = 1, .imm = 1 | 6 << 8},
            {.op = VOp::kMaskRange, .dst = 2, .imm = 7 << 8},
            {.op = VOp::kSet, .dst = 2, .imm = 2},
            {.op = VOp::kLoad, .dst = 0, .mem = {1, 0}},
            {.op = VOp::kLoad, .dst = 3, .mem = {1, 32}},
            {.op = VOp::kLoad, .dst = 2, .mem = {0, 64}},
            {.op = VOp::kLoad, .dst = 1, .mask = 1, .mem = {0, 4}}};
  p.code.insert(p.code.end(), then.begin(), then.end());
  p.code.push_back({.op = VOp::kStore, .src1 = 0, .mem = {1, 256}});
  p.code.push_back({.op = VOp::kStore, .src1 = 3, .mem = {1, 288}});
  return p;
}

void expectSameOfSpecialValues(const VectorProgram& p, bool addsNegativeZero) {
  const auto legal = legalize(p);
  ASSERT_TRUE(legal.ok()) << legal.error().message;
  EXPECT_EQ(print(*legal).find("blend.mv") == std::string::npos, addsNegativeZero) << print(*legal);
  constexpr std::array<std::uint32_t, 9> kSpecial{0,          0x80000000, 1,          0x80000001, 0x7f800000,
                                                  0xff800000, 0x7fc00000, 0x3f800000, 0xbf800000};
  for (unsigned n = 0; n < 40; ++n) {
    RandomArena arena(n);
    std::mt19937 rng(n);
    for (auto& w : arena.a) w = kSpecial[rng() % kSpecial.size()];
    for (std::size_t i = 0; i < 128; ++i) arena.c[kGuardWords + i] = kSpecial[rng() % kSpecial.size()];
    ASSERT_TRUE(leavesTheSame(p, *legal, arena));
  }
}

TEST(VectorLegalize, SumsUnderAMaskLeaveTheOtherLanesBitByBit) {
  expectSameOfSpecialValues(maskedSums({{.op = VOp::kFma, .dst = 0, .src1 = 1, .src2 = 2, .mask = 1}}), true);
  expectSameOfSpecialValues(maskedSums({{.op = VOp::kFma, .dst = 0, .src1 = 2, .src2 = 1, .mask = 1},
                                        {.op = VOp::kFmaBroadcast, .dst = 3, .src1 = 1, .mask = 1, .mem = {0, 8}}}),
                            true);
  // Sums of a loop, each with its own load.
  expectSameOfSpecialValues(maskedSums({{.op = VOp::kLoop, .dst = 2},
                                        {.op = VOp::kLoad, .dst = 1, .mask = 1, .mem = {0, 4}},
                                        {.op = VOp::kFmaBroadcast, .dst = 0, .src1 = 1, .mask = 1, .mem = {0, 8}},
                                        {.op = VOp::kEndLoop}}),
                            true);
}

TEST(VectorLegalize, WhatOthersReadAsWellHoldsPositiveZero) {
  const VInstr sum{.op = VOp::kFma, .dst = 0, .src1 = 1, .src2 = 2, .mask = 1};
  for (const std::vector<VInstr>& then : std::vector<std::vector<VInstr>>{
           {sum, {.op = VOp::kStore, .src1 = 1, .mem = {1, 320}}},
           {sum, {.op = VOp::kFma, .dst = 3, .src1 = 1, .src2 = 2}},
           {sum, {.op = VOp::kFma, .dst = 3, .src1 = 1, .src2 = 2, .mask = 2}},
           {sum, {.op = VOp::kFma, .dst = 1, .src1 = 3, .src2 = 2, .mask = 1}, {.op = VOp::kMove, .dst = 3, .src1 = 1}},
           {sum, {.op = VOp::kMove, .dst = 3, .src1 = 1, .mask = 1}},
           {{.op = VOp::kFma, .dst = 0, .src1 = 1, .src2 = 1, .mask = 1}},
           {{.op = VOp::kMaskRange, .dst = 1, .imm = 3 | 8 << 8}, sum},
           {sum, {.op = VOp::kLoad, .dst = 1, .mem = {0, 36}}, sum},
           {sum, {.op = VOp::kBroadcast, .dst = 1, .mem = {0, 36}}, sum},
           {sum, {.op = VOp::kLoad, .dst = 1, .mask = 2, .mem = {0, 36}}, sum},
           {{.op = VOp::kLoop, .dst = 2}, sum, {.op = VOp::kEndLoop}},
           {{.op = VOp::kLoop, .dst = 2},
            {.op = VOp::kFma, .dst = 3, .src1 = 1, .src2 = 2, .mask = 1},
            {.op = VOp::kLoad, .dst = 1, .mask = 1, .mem = {0, 12}},
            sum,
            {.op = VOp::kEndLoop}}}) {
    expectSameOfSpecialValues(maskedSums(then), false);
  }
}

TEST(VectorLegalize, RefusesAMaskThatDependsOnALoop) {
  VectorProgram p = fullRegisters({.op = VOp::kStore, .src1 = 15, .mask = 1, .mem = {0, 4}});
  p.comments.clear();
  // v0 .. v14 live, the mask is set again in a loop that may not run: without a register for it its value is unknown.
  p.code.insert(p.code.begin() + 2, {{.op = VOp::kSet, .dst = 1, .imm = 0},
                                     {.op = VOp::kLoop, .dst = 1},
                                     {.op = VOp::kMaskRange, .dst = 1, .imm = 5 << 8},
                                     {.op = VOp::kEndLoop}});
  p.code.erase(p.code.end() - 16);  // v0 is not stored: one scratch register
  const auto legal = legalize(p);
  ASSERT_FALSE(legal.ok());
  EXPECT_NE(legal.error().message.find("depends on how often a loop ran"), std::string::npos) << legal.error().message;
}

TEST(VectorLegalize, RefusesAMaskThatTheLoopSetsBehindItsUse) {
  VectorProgram p = fullRegisters({.op = VOp::kLoop, .dst = 1});
  p.comments.clear();
  p.code.insert(p.code.begin() + 2, {.op = VOp::kSet, .dst = 1, .imm = 2});
  p.code.insert(p.code.begin() + 20, {{.op = VOp::kStore, .src1 = 15, .mask = 1, .mem = {0, 4}},
                                      {.op = VOp::kMaskRange, .dst = 1, .imm = 5 << 8},
                                      {.op = VOp::kEndLoop}});
  p.code.erase(p.code.end() - 16);  // v0 is not stored: one scratch register
  const auto legal = legalize(p);
  ASSERT_FALSE(legal.ok()) << print(*legal);
  EXPECT_NE(legal.error().message.find("depends on how often a loop ran"), std::string::npos) << legal.error().message;
}

TEST(VectorLiveness, LoopsKeepWhatTheNextIterationReads) {
  VectorProgram p;
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},               // 0
            {.op = VOp::kZero, .dst = 0},                        // 1
            {.op = VOp::kZero, .dst = 1},                        // 2
            {.op = VOp::kLoop, .dst = 0},                        // 3
            {.op = VOp::kAddF, .dst = 2, .src1 = 0, .src2 = 0},  // 4
            {.op = VOp::kMove, .dst = 0, .src1 = 2},             // 5: for the next iteration
            {.op = VOp::kEndLoop},                               // 6
            {.op = VOp::kStore, .src1 = 1, .mem = {0, 0}}};      // 7
  const auto live = liveAfter(p);
  EXPECT_EQ(live[2], vectorBit(0) | vectorBit(1));
  EXPECT_EQ(live[4], vectorBit(1) | vectorBit(2));
  EXPECT_EQ(live[5], vectorBit(0) | vectorBit(1));
  EXPECT_EQ(live[7], 0u);
}

TEST(VectorLiveness, ABodyMayNotRun) {
  VectorProgram p;
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},           // 0
            {.op = VOp::kZero, .dst = 0},                    // 1
            {.op = VOp::kLoop, .dst = 0},                    // 2
            {.op = VOp::kZero, .dst = 0},                    // 3
            {.op = VOp::kEndLoop},                           // 4
            {.op = VOp::kStore, .src1 = 0, .mem = {0, 0}}};  // 5
  const auto live = liveAfter(p);
  EXPECT_EQ(live[1], vectorBit(0)) << "stored if the body does not run";
  EXPECT_EQ(live[2], 0U) << "the body sets it before anything reads it";
}

}  // namespace
}  // namespace cubejit
