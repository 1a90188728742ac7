// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks what the LLVM backend's text and objects look like: deterministic, accumulators as phis, no fast-math, lines that lead
// back to the program, objects for every level on any machine. Whether they compute the right thing is asked by backends_test.
#include "codegen/llvm_backend/emit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "codegen/vector/legalize.h"
#include "tests/support/random_vector_program.h"

namespace cubejit {
namespace {

// c[0 .. L) = sum over repeat of a[0 .. L) * the word at b, read twice in a row.
VectorProgram sums(const HostIsa& isa) {
  VectorProgram p;
  p.name = "sums";
  p.isa = isa;
  p.comments = {{4, "the loop"}};
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 1},
            {.op = VOp::kArg, .dst = 2, .imm = 4},
            {.op = VOp::kZero, .dst = 0},
            {.op = VOp::kLoop, .dst = 2},
            {.op = VOp::kLoad, .dst = 1, .mem = {0, 0}},
            {.op = VOp::kFmaBroadcast, .dst = 0, .src1 = 1, .mem = {1, 4}},
            {.op = VOp::kFmaBroadcast, .dst = 0, .src1 = 1, .mem = {1, 4}},
            {.op = VOp::kEndLoop},
            {.op = VOp::kArg, .dst = 3, .imm = 2},
            {.op = VOp::kStore, .src1 = 0, .mem = {3, 0}}};
  return p;
}

std::string textOf(const VectorProgram& program, IrStage stage) {
  const auto text = llvmText(program, stage);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message);
  return text.ok() ? *text : "";
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(LlvmBackend, AccumulatorsArePhisAndMultiplyAddsAreFused) {
  const std::string text = textOf(sums(avx512Isa()), IrStage::kBuilt);
  EXPECT_EQ(count(text, "call <16 x float> @llvm.fma.v16f32("), 2) << text;
  EXPECT_EQ(count(text, "%v0.2 = phi <16 x float> [ %v0.1, %entry ]"), 1) << text;
  EXPECT_EQ(count(text, "alloca"), 0);
  for (const char* flag : {" fast ", " reassoc ", " contract ", " nsz "}) EXPECT_EQ(count(text, flag), 0) << flag;
  EXPECT_EQ(count(text, "\"prefer-vector-width\"=\"512\""), 1);
}

TEST(LlvmBackend, WhatIsReadTwiceIsNotKeptInARegister) {
  EXPECT_EQ(count(textOf(sums(avx512Isa()), IrStage::kOptimised), "load float"), 2);
}

TEST(LlvmBackend, TheTextShowsTheProgram) {
  const std::string text = textOf(sums(avx512Isa()), IrStage::kBuilt);
  const std::size_t comment = text.find("; the loop"), loop = text.find(";   loop s2"),
                    fma = text.find(";   fma.b v0, v1");
  EXPECT_LT(comment, loop);
  EXPECT_LT(loop, fma);
  EXPECT_NE(fma, std::string::npos);
  EXPECT_EQ(count(text, "!dbg"), 0);
}

TEST(LlvmBackend, LinesLeadBackToTheProgram) {
  const VectorProgram program = sums(avx512Isa());
  const auto code = emitLlvm(program);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code->format, CodeFormat::kElf);
  EXPECT_EQ(code->name, "sums");
  EXPECT_GT(code->instructionBytes, 30);
  ASSERT_FALSE(code->lines.empty());
  EXPECT_TRUE(std::is_sorted(code->lines.begin(), code->lines.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
  for (const auto& [offset, index] : code->lines) {
    EXPECT_LT(offset, code->instructionBytes);
    EXPECT_LT(static_cast<std::size_t>(index), program.code.size());
  }
  for (const int wanted : {6, 7, 10}) {
    EXPECT_TRUE(std::any_of(code->lines.begin(), code->lines.end(), [&](const auto& line) {
      return line.second == wanted;
    })) << wanted;
  }
}

// What a debugger is told: the caller is found behind the frame pointer, from its set-up to just before the return.
TEST(LlvmBackend, FrameRulesFollowTheCode) {
  for (const IsaLevel level : kAllIsaLevels) {
    const auto code = emitLlvm(*legalize(sums(isaOf(level))));
    ASSERT_TRUE(code.ok()) << code.error().message;
    const bool arm = architectureOf(level) == Architecture::kAarch64;
    const std::int8_t framePointer = arm ? 29 : 6;
    ASSERT_GE(code->frame.size(), 3U) << toString(level);
    bool fromFramePointer = false, saved = false;
    for (std::size_t i = 0; i < code->frame.size(); ++i) {
      const FrameStep& step = code->frame[i];
      fromFramePointer |= step.op == FrameOp::kAddress && step.reg == framePointer && step.offset == 16;
      saved |= step.op == FrameOp::kSaved && step.reg == framePointer && step.offset == -16;
      EXPECT_GE(step.at, i == 0 ? 1 : code->frame[i - 1].at);
      EXPECT_LT(step.at, code->instructionBytes);
    }
    EXPECT_TRUE(fromFramePointer) << toString(level);
    EXPECT_TRUE(saved) << toString(level);
    EXPECT_TRUE(std::any_of(code->frame.begin(), code->frame.end(),
                            [&](const FrameStep& step) {
                              return step.op == FrameOp::kAddress && step.reg == (arm ? 31 : 7) &&
                                     step.offset == (arm ? 0 : 8);
                            }))
        << toString(level) << ": at the return the frame is gone";
  }
}

TEST(LlvmBackend, SameProgramGivesSameTextAndObjectForEveryLevel) {
  for (const IsaLevel level : kAllIsaLevels) {
    std::mt19937 rng(3);
    for (int n = 0; n < 20; ++n) {
      RandomShape shape;
      shape.instructions = 30;
      const auto legal = legalize(randomVectorProgram(rng, isaOf(level), shape));
      ASSERT_TRUE(legal.ok()) << legal.error().message;
      EXPECT_EQ(textOf(*legal, IrStage::kBuilt), textOf(*legal, IrStage::kBuilt));
      const auto one = emitLlvm(*legal), two = emitLlvm(*legal);
      ASSERT_TRUE(one.ok()) << toString(level) << ": " << one.error().message;
      EXPECT_EQ(one->bytes, two->bytes);
      EXPECT_EQ(one->lines, two->lines);
    }
  }
}

}  // namespace
}  // namespace cubejit
