// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the interpreter gives each op the meaning ops.def states, against values worked out by hand.
#include "codegen/vector/interpret.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace cubejit {
namespace {

using Floats = std::vector<float>;

struct Memory {
  alignas(64) float a[64];
  alignas(64) float c[64];
  Memory() {
    for (int i = 0; i < 64; ++i) a[i] = static_cast<float>(i), c[i] = -1;
  }
};

// v0 = a[0..L), v1 = a[16..16+L), v2 = constant (a permutation), then `op`, then c[0..L) = v3 (which starts as a[32..32+L)).
Floats run(const HostIsa& isa, VInstr op, std::vector<std::int32_t> constant = {}) {
  Memory memory;
  VectorProgram p;
  p.name = "one_op";
  p.isa = isa;
  constant.resize(static_cast<std::size_t>(isa.lanes()));
  p.constants = {constant};
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 2},
            {.op = VOp::kLoad, .dst = 0, .mem = {0, 0}},
            {.op = VOp::kLoad, .dst = 1, .mem = {0, 64}},
            {.op = VOp::kConst, .dst = 2, .imm = 0},
            {.op = VOp::kLoad, .dst = 3, .mem = {0, 128}},
            {.op = VOp::kMaskRange, .dst = 1, .imm = 1 | 3 << 8},
            op,
            {.op = VOp::kStore, .src1 = 3, .mem = {1, 0}}};
  KernelArgs args;
  args.a = memory.a;
  args.c = memory.c;
  const Status status = interpret(p, args);
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(memory.c[isa.lanes()], -1) << "stored too much";
  return Floats(memory.c, memory.c + isa.lanes());
}

TEST(VectorInterpret, ArithmeticAndMasks) {
  const HostIsa isa = avx2Isa();
  EXPECT_EQ(run(isa, {.op = VOp::kFma, .dst = 3, .src1 = 0, .src2 = 1}),
            (Floats{32, 33 + 17, 34 + 36, 35 + 57, 36 + 80, 37 + 105, 38 + 132, 39 + 161}));
  EXPECT_EQ(run(isa, {.op = VOp::kFma, .dst = 3, .src1 = 0, .src2 = 1, .mask = 1}),
            (Floats{32, 50, 70, 35, 36, 37, 38, 39}));
  EXPECT_EQ(run(isa, {.op = VOp::kFmaLoad, .dst = 3, .src1 = 0, .mem = {0, 64}}),
            run(isa, {.op = VOp::kFma, .dst = 3, .src1 = 0, .src2 = 1}));
  EXPECT_EQ(run(isa, {.op = VOp::kFmaBroadcast, .dst = 3, .src1 = 0, .mask = 1, .mem = {0, 8}}),
            (Floats{32, 35, 38, 35, 36, 37, 38, 39}));
  EXPECT_EQ(run(isa, {.op = VOp::kAddF, .dst = 3, .src1 = 0, .src2 = 1}), (Floats{16, 18, 20, 22, 24, 26, 28, 30}));
  EXPECT_EQ(run(isa, {.op = VOp::kMul, .dst = 3, .src1 = 0, .src2 = 0}), (Floats{0, 1, 4, 9, 16, 25, 36, 49}));
  EXPECT_EQ(run(isa, {.op = VOp::kMinF, .dst = 3, .src1 = 1, .src2 = 0}), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(run(isa, {.op = VOp::kMaxF, .dst = 3, .src1 = 1, .src2 = 0}), (Floats{16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(run(isa, {.op = VOp::kMove, .dst = 3, .src1 = 0, .mask = 1}), (Floats{32, 1, 2, 35, 36, 37, 38, 39}));
  EXPECT_EQ(run(isa, {.op = VOp::kLoad, .dst = 3, .mask = 1, .mem = {0, 40}}), (Floats{0, 11, 12, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run(isa, {.op = VOp::kBroadcast, .dst = 3, .mem = {0, 20}}), Floats(8, 5.0f));
  EXPECT_EQ(run(isa, {.op = VOp::kZero, .dst = 3}), Floats(8, 0.0f));
}

TEST(VectorInterpret, Permutations) {
  const HostIsa narrow = avx2Isa(), wide = avx512Isa();
  EXPECT_EQ(run(narrow, {.op = VOp::kPermute, .dst = 3, .src1 = 2, .src2 = 0}, {7, 6, 5, 4, 3, 2, 1, 8}),
            (Floats{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(run(narrow, {.op = VOp::kPermute2, .dst = 3, .src1 = 2, .src2 = 0, .src3 = 1}, {0, 8, 1, 9, 7, 15, 16, 24}),
            (Floats{0, 16, 1, 17, 7, 23, 0, 16}));
  EXPECT_EQ(run(narrow, {.op = VOp::kUnpackLo, .dst = 3, .src1 = 0, .src2 = 1}), (Floats{0, 16, 1, 17, 4, 20, 5, 21}));
  EXPECT_EQ(run(narrow, {.op = VOp::kUnpackHi, .dst = 3, .src1 = 0, .src2 = 1}), (Floats{2, 18, 3, 19, 6, 22, 7, 23}));
  EXPECT_EQ(run(narrow, {.op = VOp::kUnpackLo64, .dst = 3, .src1 = 0, .src2 = 1}),
            (Floats{0, 1, 16, 17, 4, 5, 20, 21}));
  EXPECT_EQ(run(narrow, {.op = VOp::kUnpackHi64, .dst = 3, .src1 = 0, .src2 = 1}),
            (Floats{2, 3, 18, 19, 6, 7, 22, 23}));
  EXPECT_EQ(run(narrow, {.op = VOp::kShuffleBlocks, .dst = 3, .src1 = 0, .src2 = 1, .imm = 1}),
            (Floats{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(run(narrow, {.op = VOp::kShuffleBlocks, .dst = 3, .src1 = 0, .src2 = 1, .imm = 2}),
            (Floats{0, 1, 2, 3, 20, 21, 22, 23}));
  EXPECT_EQ(run(wide, {.op = VOp::kShuffleBlocks, .dst = 3, .src1 = 0, .src2 = 1, .imm = 0b11'00'01'10}),
            (Floats{8, 9, 10, 11, 4, 5, 6, 7, 16, 17, 18, 19, 28, 29, 30, 31}));
}

TEST(VectorInterpret, WordsOfTwoVectors) {
  // Lane i of the sources is i and 16 + i, small integers: f32 with equal lower words, 0.
  std::vector<std::int32_t> index(16);
  for (int l = 0; l < 16; ++l) index[static_cast<std::size_t>(l)] = (2 * l + 1) << 16 | (32 + 2 * l);
  Floats first(16);
  for (int l = 0; l < 16; ++l) first[static_cast<std::size_t>(l)] = static_cast<float>(l);
  EXPECT_EQ(run(avx512Bf16Isa(), {.op = VOp::kPermuteWords2, .dst = 3, .src1 = 2, .src2 = 0, .src3 = 1}, index), first);
  for (std::int32_t& i : index) i += 32 << 16;  // upper words of the second vector
  Floats second(16);
  for (int l = 0; l < 16; ++l) second[static_cast<std::size_t>(l)] = static_cast<float>(16 + l);
  EXPECT_EQ(run(avx512Bf16Isa(), {.op = VOp::kPermuteWords2, .dst = 3, .src1 = 2, .src2 = 0, .src3 = 1}, index),
            second);
}

TEST(VectorInterpret, MaskVectors) {
  const HostIsa isa = avx2Isa();
  const std::vector<std::int32_t> second{0, -1, 0, 0, 0, 0, 0, INT32_MIN};
  EXPECT_EQ(run(isa, {.op = VOp::kBlendVector, .dst = 3, .src1 = 0, .src2 = 1, .src3 = 2}, second),
            (Floats{0, 17, 2, 3, 4, 5, 6, 23}));
  EXPECT_EQ(run(isa, {.op = VOp::kLoadMaskVector, .dst = 3, .src1 = 2, .mem = {0, 0}}, second),
            (Floats{0, 1, 0, 0, 0, 0, 0, 7}));
}

TEST(VectorInterpret, FmaRoundsOnce) {
  Memory memory;
  memory.a[0] = 1 + 0x1p-12f;
  memory.c[0] = -1;
  VectorProgram p;
  p.name = "rounding";
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 2},
            {.op = VOp::kBroadcast, .dst = 0, .mem = {0, 0}},
            {.op = VOp::kBroadcast, .dst = 1, .mem = {1, 0}},
            {.op = VOp::kFma, .dst = 1, .src1 = 0, .src2 = 0},
            {.op = VOp::kStore, .src1 = 1, .mem = {1, 0}}};
  KernelArgs args;
  args.a = memory.a;
  args.c = memory.c;
  ASSERT_TRUE(interpret(p, args).ok());
  EXPECT_EQ(memory.c[0], 0x1p-11f + 0x1p-24f);  // two roundings would lose the last term
}

TEST(VectorInterpret, MaskedAccessDoesNotTouchOtherMemory) {
  const long page = sysconf(_SC_PAGESIZE);
  char* map = static_cast<char*>(
      mmap(nullptr, static_cast<std::size_t>(2 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(mprotect(map + page, static_cast<std::size_t>(page), PROT_NONE), 0);
  VectorProgram p;
  p.name = "edge";
  p.isa = avx512Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},
            {.op = VOp::kMaskRange, .dst = 1, .imm = 3 << 8},
            {.op = VOp::kLoad, .dst = 0, .mask = 1, .mem = {0, -12}},
            {.op = VOp::kStore, .src1 = 0, .mask = 1, .mem = {0, -12}}};
  KernelArgs args;
  args.c = map + page;
  EXPECT_TRUE(interpret(p, args).ok());
  munmap(map, static_cast<std::size_t>(2 * page));
}

TEST(VectorInterpret, StreamingStoresMustBeAligned) {
  Memory memory;
  VectorProgram p;
  p.name = "stream";
  p.isa = avx512Isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},
            {.op = VOp::kZero, .dst = 0},
            {.op = VOp::kStoreStream, .src1 = 0, .mem = {0, 32}},
            {.op = VOp::kStreamFence}};
  KernelArgs args;
  args.c = memory.c;
  const Status status = interpret(p, args);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().stage, Stage::kRun);
  EXPECT_EQ(memory.c[8], -1);
}

}  // namespace
}  // namespace cubejit
