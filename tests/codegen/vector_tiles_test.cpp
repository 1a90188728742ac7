// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks what tiles compute: the order of sums and what counts as zero, against cases worked out by hand; the interpreter against machine code
// on every pattern of bits; which configurations and uses are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codegen/backend.h"
#include "codegen/disassemble.h"
#include "codegen/tile/matrix_sums.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/print.h"
#include "codegen/vector/tile_config.h"
#include "codegen/vector/verify.h"
#include "cubejit/float16.h"
#include "tests/support/run_code.h"

namespace cubejit {
namespace {

using testing::HasSubstr;

std::uint32_t pairOf(float even, float odd) { return floatToBf16(even) | std::uint32_t{floatToBf16(odd)} << 16; }
std::uint32_t f16Pair(float even, float odd) { return floatToF16(even) | std::uint32_t{floatToF16(odd)} << 16; }

// Sums of two pairs of a and b.
float sumOf(float c, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, bool f16 = false) {
  return twoChains(c, a.data(), b.data(), static_cast<std::int64_t>(a.size()), 1, f16);
}

// What tells this order from others: an exact sum, one in order that begins with c, and one that adds pairs to c, give 1 or 2.
TEST(Tiles, SumsBeginWithZeroAndMeetCLast) {
  const float big = 0x1p24F;
  EXPECT_EQ(sumOf(-big, {pairOf(big, 1)}, {pairOf(1, 1)}), 0) << "even + odd is rounded before c joins";
  EXPECT_EQ(sumOf(-big, {pairOf(big, 0), pairOf(1, 0)}, {pairOf(1, 0), pairOf(1, 0)}), 0)
      << "a chain is rounded at each k";
  EXPECT_EQ(sumOf(0, {pairOf(big, 1), pairOf(-big, 1)}, {pairOf(1, 1), pairOf(1, 1)}), 2)
      << "even and odd k are two chains";
}

TEST(Tiles, DenormalsCountAsZeroButThoseOfF16) {
  const float least = std::numeric_limits<float>::min(), denormal = least / 2;
  EXPECT_EQ(sumOf(denormal, {0}, {0}), 0) << "c";
  EXPECT_EQ(sumOf(0, {pairOf(denormal, 0)}, {pairOf(0x1p100F, 0)}), 0) << "an operand";
  EXPECT_EQ(sumOf(0, {pairOf(0x1p-100F, 0)}, {pairOf(0x1p-27F, 0)}), 0) << "a product";
  EXPECT_EQ(sumOf(-least, {pairOf(1.5F * least, 0)}, {pairOf(1, 0)}), 0) << "the sum with c";
  EXPECT_EQ(sumOf(0, {f16Pair(0x1p-24F, 0)}, {f16Pair(0x1p-24F, 0)}, true), 0x1p-48F) << "f16 as they are";
  EXPECT_TRUE(std::signbit(sumOf(-0.0F, {pairOf(-0.0F, -0.0F)}, {pairOf(1, 1)})) == false) << "chains begin with +0";
  // 1 - 2^-24 and 1 - 2^-25 of the least normal number, as a product and a normal number: rounded to 24 digits the second one is normal.
  EXPECT_EQ(sumOf(0, {pairOf(least, 0), pairOf(-0x1p-100F, 0)}, {pairOf(1, 0), pairOf(0x1p-50F, 0)}), 0);
  EXPECT_EQ(sumOf(0, {pairOf(least, 0), pairOf(-0x1p-100F, 0)}, {pairOf(1, 0), pairOf(0x1p-51F, 0)}), least);
}

// A block of two by two: loads with a distance of rows, products, stores.
VectorProgram block(const TileConfig& config, VOp product, IsaLevel level = IsaLevel::kAvx512AmxFp16) {
  VectorProgram p;
  p.name = "tiles";
  p.isa = isaOf(level);
  p.constants = {wordsOf(config)};
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 1},
            {.op = VOp::kArg, .dst = 2, .imm = 2},
            {.op = VOp::kSet, .dst = 3, .imm = 64},
            {.op = VOp::kTileConfigure, .imm = 0},
            {.op = VOp::kTileLoad, .dst = 0, .src1 = 3, .mem = {2, 0}},
            {.op = VOp::kTileLoad, .dst = 4, .src1 = 3, .mem = {0, 0}},
            {.op = VOp::kTileLoad, .dst = 6, .src1 = 3, .mem = {1, 0}},
            {.op = product, .dst = 0, .src1 = 4, .src2 = 6},
            {.op = VOp::kTileStore, .src1 = 0, .src2 = 3, .mem = {2, 0}},
            {.op = VOp::kTileRelease}};
  return p;
}

TileConfig configOf(int rows, int columns, int pairs) {
  TileConfig config;
  config[0] = {rows, 4 * columns};
  config[4] = {rows, 4 * pairs};
  config[6] = {pairs, 4 * columns};
  return config;
}

// All bits but those of NaNs, of which hardware keeps one or another: many tiny ones, so that sums meet the least normal number.
std::uint32_t anyPair(std::mt19937& rng, bool f16) {
  std::uint32_t pair = 0;
  for (int member = 0; member < 2; ++member) {
    std::uint32_t bits = rng() & 0xffff;
    const std::uint32_t exponents = f16 ? 0x7c00 : 0x7f80;
    if ((bits & exponents) == exponents) bits &= 0x8000;
    if (!f16 && rng() % 2 == 0) bits = (bits & 0x807f) | (rng() % 40 + 44) << 7;  // products around 2^-126
    pair |= bits << (16 * member);
  }
  return pair;
}

TEST(Tiles, MachineCodeAgreesWithTheInterpreterOnAllBits) {
  if (!hostRuns(IsaLevel::kAvx512AmxFp16)) GTEST_SKIP() << "neither AMX nor AVX-512 to imitate it with";
  std::mt19937 rng(5);
  for (int n = 0; n < 2000; ++n) {
    const bool f16 = n % 2 == 1;
    const auto extent = [&] { return n % 5 == 0 ? 16 : 1 + static_cast<int>(rng() % 16); };
    const VectorProgram p = block(configOf(extent(), extent(), extent()), f16 ? VOp::kTileDotF16 : VOp::kTileDotBf16);
    struct Operands {
      std::uint32_t a[256], b[256], c[256];
    } want{}, got{};
    for (int i = 0; i < 256; ++i) {
      want.a[i] = anyPair(rng, f16);
      want.b[i] = anyPair(rng, f16);
      want.c[i] = n % 3 == 0 ? (rng() % 4 + 1) << 22 | rng() % 3 : bitsOf(static_cast<float>(rng() % 1000) - 500);
    }
    got = want;
    const auto argsOf = [](Operands& o) {
      KernelArgs args;
      args.a = o.a;
      args.b = o.b;
      args.c = o.c;
      return args;
    };
    const auto code = emitXbyak(p);
    ASSERT_TRUE(code.ok()) << code.error().message;
    ASSERT_TRUE(interpret(p, argsOf(want)).ok());
    ASSERT_TRUE(runCode(*code, argsOf(got)));
    ASSERT_EQ(takeTileFaults(), "");
    for (int i = 0; i < 256; ++i) {
      const float x = floatOf(want.c[i]), y = floatOf(got.c[i]);
      ASSERT_TRUE(want.c[i] == got.c[i] || (std::isnan(x) && std::isnan(y)))
          << n << " at " << i << ": " << y << " for " << x;
    }
  }
}

TEST(Tiles, AreSpelledAsTheManualSays) {
  const auto code = emitXbyak(block(configOf(16, 16, 16), VOp::kTileDotBf16));
  ASSERT_TRUE(code.ok()) << code.error().message;
  const auto text = disassemble(*code, nullptr);
  ASSERT_TRUE(text.ok()) << text.error().message;
  for (const char* spelled :
       {"ldtilecfg", "tileloadd\ttmm4", "tileloadd\ttmm6", "tdpbf16ps\ttmm0, tmm4, tmm6", "tilestored", "tilerelease"})
    EXPECT_THAT(*text, HasSubstr(spelled));
}

struct BadTiles {
  const char* name;
  void (*spoil)(VectorProgram&);
  const char* rule;
};

TEST(Tiles, WhatWouldFaultIsRefused) {
  const auto edit = [](VectorProgram& p, int byte, int value) {
    reinterpret_cast<unsigned char*>(p.constants[0].data())[byte] = static_cast<unsigned char>(value);
  };
  static const auto spoilByte = edit;
  const BadTiles cases[] = {
      {"palette", [](auto& p) { spoilByte(p, 0, 2); }, "palette 2 is not 1"},
      {"firstRow", [](auto& p) { spoilByte(p, 1, 1); }, "first row 1 is not 0"},
      {"reserved", [](auto& p) { spoilByte(p, 33, 7); }, "reserved byte 33 7 is not 0"},
      {"rows", [](auto& p) { spoilByte(p, 48, 17); }, "rows of t0 17 are more than 16"},
      {"bytes", [](auto& p) { spoilByte(p, 16, 68); }, "bytes a row of t0 68 are more than 64"},
      {"words", [](auto& p) { spoilByte(p, 16, 62); }, "bytes a row of t0 62 are no whole words"},
      {"half", [](auto& p) { spoilByte(p, 49, 3); }, "rows of t1 3 have 0 bytes each"},
      {"notConfigured", [](auto& p) { p.code[5].dst = 1; }, "dst is not configured"},
      {"tooHigh", [](auto& p) { p.code[5].dst = 8; }, "dst 8 is not in [0, 8)"},
      {"twice", [](auto& p) { p.code[8].src2 = 4; }, "dst, src1 and src2 must be three tiles"},
      {"rowsOfSums", [](auto& p) { spoilByte(p, 48, 5); }, "rows of dst 5 must be 6, those of src1"},
      {"columns", [](auto& p) { spoilByte(p, 16, 8); }, "bytes a row of dst 8 must be 28, those of src2"},
      {"depth", [](auto& p) { spoilByte(p, 54, 2); }, "rows of src2 2 must be 3, the words in a row of src1"},
      {"unwritten", [](auto& p) { p.code.erase(p.code.begin() + 6); }, "src1 is read before it is written"},
      {"forgotten", [](auto& p) { p.code[9] = {.op = VOp::kTileConfigure, .imm = 0}; }, nullptr},
      {"unreleased", [](auto& p) { p.code.pop_back(); }, "instruction 4 `tile.cfg c0`: no tile.release follows"},
      {"behindRelease", [](auto& p) { std::swap(p.code[9], p.code[10]); }, "src1 is not configured"},
      {"inLoop",
       [](auto& p) {
         p.code.insert(p.code.begin() + 4, {.op = VOp::kLoop, .dst = 3});
         p.code.push_back({.op = VOp::kEndLoop});
       },
       "tiles are configured and released outside loops only"},
      {"narrow",
       [](auto& p) {
         p.isa = avx2Isa();
         p.constants[0].resize(8);
       },
       "a constant must have 512 bits"}};
  for (const BadTiles& bad : cases) {
    VectorProgram p = block(configOf(6, 7, 3), VOp::kTileDotBf16);
    ASSERT_TRUE(verify(p).ok()) << verify(p).error().message;
    bad.spoil(p);
    const Status status = verify(p);
    if (bad.rule == nullptr) {
      EXPECT_TRUE(status.ok()) << bad.name << ": tiles may be configured again";
      continue;
    }
    ASSERT_FALSE(status.ok()) << bad.name;
    EXPECT_THAT(status.error().message, HasSubstr(bad.rule)) << bad.name;
  }
}

TEST(Tiles, LevelsThatLackThemSaySo) {
  EXPECT_THAT(emitXbyak(block(configOf(16, 16, 16), VOp::kTileDotBf16, IsaLevel::kAvx512Bf16)).error().message,
              HasSubstr("`tile.cfg c0` must be legalised first"));
  const auto code = emitXbyak(block(configOf(16, 16, 16), VOp::kTileDotF16, IsaLevel::kAvx512Amx));
  ASSERT_FALSE(code.ok());
  EXPECT_THAT(code.error().message, HasSubstr("`tile.dot.h t0, t4, t6` must be legalised first"));
}

// The handler itself: a CPU would fault where it says that a rule is broken.
TEST(Tiles, TheEmulatorNamesBrokenRules) {
  if (!tilesRun()) GTEST_SKIP() << "nothing to imitate with";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("amx-tile")) GTEST_SKIP() << "this CPU faults by itself";
  Code code;
  for (const int byte : {0xC4, 0xE2, 0x7B, 0x49, 0xC0, 0xC3})
    code.bytes.push_back(static_cast<std::byte>(byte));  // tilezero tmm0; ret
  ASSERT_TRUE(runCode(code, {}));
  EXPECT_THAT(takeTileFaults(), HasSubstr("#UD: tilezero of a tile that is not configured"));
  EXPECT_EQ(takeTileFaults(), "");
#endif
}

}  // namespace
}  // namespace cubejit
