// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/backend.h"
#include "codegen/binary/mc_target.h"
#include "codegen/binary/object.h"
#include "codegen/binary/throughput.h"
#include "codegen/binary/tools.h"
#include "codegen/disassemble.h"
#include "codegen/listing.h"
#include "codegen/llvm_backend/emit.h"

namespace cubejit {
namespace {

// Sums a[0 .. 7] * b[0 .. 7], list entries many times.
VectorProgram program(const HostIsa& isa) {
  VectorProgram p;
  p.name = "dot";
  p.isa = isa;
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 4},
            {.op = VOp::kZero, .dst = 0},
            {.op = VOp::kLoop, .dst = 1},
            {.op = VOp::kLoad, .dst = 1, .mem = {0, 0}},
            {.op = VOp::kFma, .dst = 0, .src1 = 1, .src2 = 1},
            {.op = VOp::kEndLoop},
            {.op = VOp::kStore, .src1 = 0, .mem = {0, 0}}};
  return p;
}

Code code(const HostIsa& isa = avx512Isa()) {
  auto made = emitXbyak(program(isa));
  EXPECT_TRUE(made.ok());
  return *made;
}

ObjectInput input() {
  ObjectInput in{avx512Isa(), "unit", "/listings", {}, {}};
  const Code c = code();
  in.functions.push_back({"first", c.bytes, c.frame, "first.s", {{0, 3}, {4, 7}}});
  in.functions.push_back({"second", c.bytes, c.frame, "", {}});
  in.tables.push_back({"table", std::vector<std::byte>(24, std::byte{7})});
  return in;
}

TEST(Object, IsAnElfFileAndDeterministic) {
  const auto once = writeObject(input()), again = writeObject(input());
  ASSERT_TRUE(once.ok()) << once.error().message;
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*once, *again);
  EXPECT_EQ(std::memcmp(once->data(), "\177ELF", 4), 0);
  const std::string text(reinterpret_cast<const char*>(once->data()), once->size());
  for (const char* name : {"first", "second", "table", ".eh_frame", ".debug_line", ".note.GNU-stack"})
    EXPECT_THAT(text, testing::HasSubstr(name));
}

TEST(Object, ForDebuggersItHasAnAddress) {
  const auto object = writeDebugObject(input(), 0x123456789000);
  ASSERT_TRUE(object.ok()) << object.error().message;
  const std::uint64_t address = 0x123456789000;
  const std::string bytes(reinterpret_cast<const char*>(&address), sizeof address);
  EXPECT_THAT(std::string(reinterpret_cast<const char*>(object->data()), object->size()), testing::HasSubstr(bytes));
}

TEST(Object, FrameRulesFollowTheCode) {
  const Code c = code();
  ASSERT_GE(c.frame.size(), 5U);
  EXPECT_EQ(c.frame[0].op, FrameOp::kAddressOffset);
  EXPECT_EQ(c.frame[0].at, 5) << "behind endbr64 and push rbp";
  EXPECT_EQ(c.frame.back().op, FrameOp::kAddress);
  EXPECT_EQ(c.frame.back().offset, 8) << "the return address is left";
  EXPECT_LT(c.frame.back().at, c.instructionBytes);
  for (std::size_t i = 1; i < c.frame.size(); ++i) EXPECT_LE(c.frame[i - 1].at, c.frame[i].at);
}

TEST(Object, WhatIsSavedComesBackInReverse) {
  VectorProgram p = program(avx512Isa());
  for (std::int8_t s = 0; s < kScalarRegs; ++s) p.code.push_back({.op = VOp::kSet, .dst = s, .imm = 1});
  const auto made = emitXbyak(p);
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<int> saved, restored;
  for (const FrameStep& step : made->frame) {
    if (step.op == FrameOp::kSaved) saved.push_back(step.reg);
    if (step.op == FrameOp::kRestored) restored.insert(restored.begin(), step.reg);
  }
  EXPECT_EQ(saved.size(), 6U) << "rbp, rbx, r12 to r15";
  EXPECT_EQ(saved, restored);
}

// The same for AArch64, on any machine.
TEST(Object, OfEitherArchitecture) {
  for (const HostIsa& isa : {neonIsa(), sve256Isa()}) {
    const auto made = emitLlvm(program(isa));
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto raw = rawOf(*made);
    ASSERT_TRUE(raw.ok()) << raw.error().message;
    const auto object =
        writeObject({isa, "unit", "/listings", {{"dot", raw->bytes, raw->frame, "dot.s", {{0, 3}}}}, {}});
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_EQ(std::to_integer<int>((*object)[18]), 183) << "EM_AARCH64";
  }
}

TEST(Disassemble, ReadsTheLoopsOfAArch64) {
  for (const HostIsa& isa : {neonIsa(), sve256Isa()}) {
    const auto raw = rawOf(emitLlvm(program(isa)).value());
    ASSERT_TRUE(raw.ok());
    const auto lines = decode(*raw);
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    std::string text;
    for (const MachineLine& line : *lines) text += line.text + "\n";
    EXPECT_THAT(text, testing::HasSubstr(isa.maskRegs > 0 ? "fmla\tz" : "fmla\tv")) << text;
    const auto loops = innerLoops(*lines);
    ASSERT_EQ(loops.size(), 1U) << text;
    EXPECT_GT(loops[0].first, 0) << text;
    EXPECT_LT(loops[0].second, raw->instructionBytes) << text;
    for (const MachineLine& line : *lines) {
      EXPECT_EQ(line.size, 4);
      EXPECT_EQ(line.text.find("ret") != std::string::npos && line.target >= 0, false);
    }
    for (const std::string& cpu : mcTargetOf(isa).cpus) {
      const auto speed = throughput(*raw, {{loops[0].first, loops[0].second}}, cpu);
      ASSERT_TRUE(speed.ok()) << cpu << ": " << speed.error().message;
      EXPECT_GE((*speed)[0].cycles, 1) << cpu << ": the chain of multiply-adds takes a few cycles a link";
      EXPECT_LE((*speed)[0].cycles, 12) << cpu;
    }
  }
}

// A move to all lanes would take a unit of the multiply-adds.
TEST(Disassemble, BroadcastsOfSveAreLoads) {
  VectorProgram p = program(sve256Isa());
  p.code[4] = {.op = VOp::kBroadcast, .dst = 1, .mem = {0, 4}};
  const auto raw = rawOf(emitLlvm(p).value());
  ASSERT_TRUE(raw.ok());
  const auto lines = decode(*raw);
  ASSERT_TRUE(lines.ok());
  std::string text;
  for (const MachineLine& line : *lines) text += line.text + "\n";
  EXPECT_THAT(text, testing::HasSubstr("ld1rw\t")) << text;
}

TEST(Throughput, OfALoopBoundByItsChain) {
  const Code c = code();
  const auto lines = decode(c);
  ASSERT_TRUE(lines.ok());
  std::vector<CodeBlock> blocks;
  for (const auto& [begin, end] : innerLoops(*lines)) blocks.push_back({begin, end});
  ASSERT_EQ(blocks.size(), 1U);
  const auto speed = throughput(c, blocks, "znver4");
  ASSERT_TRUE(speed.ok()) << speed.error().message;
  EXPECT_EQ((*speed)[0].instructions, 4);
  // Each FMA waits for the one before: its latency is 4 cycles on Zen 4 (LLVM's model, as `llvm-mca-19 -mcpu=znver4` says).
  EXPECT_NEAR((*speed)[0].cycles, 4, 0.5);
  EXPECT_LT((*speed)[0].bound, 4);
  EXPECT_FALSE((*speed)[0].busy.empty());
}

TEST(Throughput, SaysWhichCpusCannot) {
  EXPECT_FALSE(throughput(code(), {}, "no-such-cpu").ok());
  const auto old = throughput(code(), {}, "haswell");
  ASSERT_FALSE(old.ok());
  EXPECT_THAT(old.error().message, testing::HasSubstr("haswell has no avx512"));
  const HostIsa isa = avx2Isa();
  for (const std::string& cpu : throughputCpus(isa)) EXPECT_TRUE(throughput(code(isa), {}, cpu).ok()) << cpu;
}

TEST(Throughput, AVectorLengthOfItsOwnNeedsACpuThatHasIt) {
  const auto raw = rawOf(emitLlvm(program(sve256Isa())).value());
  const auto none = throughput(*raw, {}, "tsv110");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, testing::HasSubstr("tsv110 has no sve256"));
}

TEST(Tools, HashAsTheStandardSays) {
  EXPECT_EQ(binaryTools().sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace cubejit
