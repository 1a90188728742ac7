// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether a product on a matrix unit keeps its meaning on the whole way down, bit by bit, for random blocks; whether it touches what
// touch.h says and nothing else; what it computes; and which blocks are refused.
#include "codegen/tile/tile_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/tile/rules.h"
#include "codegen/tile/segment_words.h"
#include "codegen/tile/touch.h"
#include "cubejit/float16.h"
#include "tests/support/fenced_memory.h"
#include "tests/support/kernel_agreement.h"

namespace cubejit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TileProducts : public testing::Test {
 protected:
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }

  // Two by two tiles at most, as long and wide as may be or less, rows apart or side by side.
  TileProduct randomProduct() {
    TileProduct p;
    p.label = "random";
    p.operand = below(2) == 0 ? Element::kF16 : Element::kBf16;
    p.tileRows = 1 + below(16);
    p.pairs = 1 + below(16);
    constexpr int kTiles[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}};
    const auto& [rowTiles, columnTiles] = kTiles[below(6)];
    p.rows = p.tileRows * (rowTiles - 1) + 1 + below(static_cast<int>(p.tileRows));
    p.cols = 16 * (columnTiles - 1) + 1 + below(16);
    p.aPitch = 4 * p.pairs + 2 * below(20);
    p.bPitch = 64 + 4 * below(10);
    p.cPitch = 4 * p.cols + 4 * below(10);
    p.aTile = 2 * below(400);
    p.bTile = p.pairs * p.bPitch + 4 * below(8);
    p.cTile = p.tileRows * p.cPitch + 4 * below(8);
    p.aStep = 2 * below(64);
    p.bStep = 4 * below(64);
    return p;
  }

  SegmentList randomList() {
    SegmentList list(1);
    for (int n = below(4); n > 0; --n) list.front().push_back({2 * below(300), 4 * below(300), below(4)});
    return list;
  }

  // Pairs of both types that are no NaN, small enough that no sum overflows.
  std::vector<float> pairs(std::size_t count, bool f16) {
    std::vector<float> all(count);
    std::uniform_real_distribution<float> real(-2, 2);
    const auto half = [&] { return f16 ? floatToF16(real(rng_)) : floatToBf16(real(rng_)); };
    for (float& pair : all) pair = floatOf(half() | static_cast<std::uint32_t>(half()) << 16);
    return all;
  }

  std::mt19937 rng_{8};
};

TEST_F(TileProducts, AgreeAtEveryStage) {
  for (int n = 0; n < 700 && !HasFailure(); ++n) {
    const TileProduct p = randomProduct();
    ASSERT_THAT(kernelRules(p), ElementsAre());
    const SegmentList list = randomList();
    const std::vector<std::int64_t> words = segmentWords(list);
    const std::vector<float> a = pairs(2500, p.f16()), b = pairs(3000, p.f16());
    KernelArgs args;
    args.a = a.data();
    args.b = b.data();
    args.list = words.data();
    args.repeat = below(4);
    args.aRepeat = 34;
    args.bRepeat = 20;
    args.cRepeat = p.rowTiles() * p.cTile + 64;
    args.accumulate = below(2);
    std::vector<float> c(static_cast<std::size_t>(args.cRepeat));
    for (float& sum : c) sum = static_cast<float>(below(2000) - 1000) / 16;
    agreeInBits(p, IsaLevel::kAvx512AmxFp16, args, c);
    ASSERT_EQ(takeTileFaults(), "");
  }
}

TEST_F(TileProducts, TouchWhatTheySay) {
  if (!hostRuns(IsaLevel::kAvx512AmxFp16)) GTEST_SKIP() << "neither AMX nor AVX-512 to imitate it with";
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    const TileProduct p = randomProduct();
    SegmentList list = randomList();
    list.front().push_back({0, 0, 1});
    const std::vector<std::int64_t> words = segmentWords(list);
    const std::array<ByteRange, 4> touched = extents(p, &list);
    for (const CallOperand operand : {CallOperand::kA, CallOperand::kB, CallOperand::kC}) {
      ByteRange hull{1, 0};
      visitTouched(p, &list, operand, [&](ByteRange r) {
        hull = hull.empty() ? r : ByteRange{std::min(hull.begin, r.begin), std::max(hull.end, r.end)};
        return true;
      });
      ASSERT_EQ(hull, touched[static_cast<std::size_t>(operand)]);
    }
    const auto program = vectorize(p, isaOf(IsaLevel::kAvx512AmxFp16));
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto code = emitXbyak(*program);
    ASSERT_TRUE(code.ok()) << code.error().message;
    for (const Fence fence : {Fence::kBefore, Fence::kBehind}) {
      const FencedMemory a(touched[0].end - touched[0].begin, fence), b(touched[1].end - touched[1].begin, fence),
          c(touched[2].end - touched[2].begin, fence);
      KernelArgs args;
      args.a = a.data() - touched[0].begin;
      args.b = b.data() - touched[1].begin;
      args.c = c.data() - touched[2].begin;
      args.list = words.data();
      for (args.accumulate = 0; args.accumulate < 2; ++args.accumulate) ASSERT_TRUE(runCode(*code, args));
      ASSERT_EQ(takeTileFaults(), "");
    }
  }
}

// The definition, in f64: integers, whose sums are exact in any order.
TEST_F(TileProducts, AreSumsOfProducts) {
  TileProduct p;
  p.label = "gemm";
  p.rows = 29;
  p.cols = 24;
  p.aPitch = p.bPitch = 64;
  p.bPitch = 24 * 4;
  p.cPitch = 24 * 4;
  p.aTile = p.tileRows * p.aPitch;
  p.bTile = 64;
  p.cTile = p.tileRows * p.cPitch;
  p.aStep = 29 * 64;
  p.bStep = 16 * p.bPitch;
  constexpr int kSteps = 3;
  std::vector<std::uint16_t> a(29 * 32 * kSteps), b(24 * 32 * kSteps);
  for (std::uint16_t& v : a) v = floatToBf16(static_cast<float>(below(9) - 4));
  for (std::uint16_t& v : b) v = floatToBf16(static_cast<float>(below(9) - 4));
  std::vector<float> c(29 * 24, 3);
  const std::vector<std::int64_t> words = segmentWords({{{0, 0, kSteps}}});
  KernelArgs args;
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  args.list = words.data();
  args.repeat = 1;
  args.accumulate = 1;
  interpret(p, args);
  for (int i = 0; i < 29; ++i)
    for (int j = 0; j < 24; ++j) {
      double want = 3;
      for (int s = 0; s < kSteps; ++s)
        for (int k = 0; k < 32; ++k)
          want += double{bf16ToFloat(a[static_cast<std::size_t>((s * 29 + i) * 32 + k)])} *
                  double{bf16ToFloat(b[static_cast<std::size_t>(((s * 16 + k / 2) * 24 + j) * 2 + k % 2)])};
      ASSERT_EQ(c[static_cast<std::size_t>(i * 24 + j)], want) << i << " " << j;
    }
}

TEST_F(TileProducts, BlocksThatDoNotFitAreRefused) {
  TileProduct p;
  p.label = "p";
  p.rows = 33;
  p.cols = 32;
  p.pairs = 17;
  p.tileRows = 17;
  p.operand = Element::kF32;
  p.bPitch = 66;
  p.cPitch = 64;
  EXPECT_THAT(kernelRules(p),
              ElementsAre(HasSubstr("tiles of 17 rows; they have 1 to 16"), HasSubstr("17 pairs in a product"),
                          HasSubstr("pairs of f32; they are of bf16 or f16"), HasSubstr("rows of B 66 bytes apart"),
                          HasSubstr("rows of C overlap: 128 bytes, 64 apart, tiles 0")));
  p = randomProduct();
  p.tileRows = 16;
  p.rows = 33;
  p.cols = 32;
  p.cPitch = 128;
  p.cTile = 2048;
  EXPECT_THAT(kernelRules(p),
              ElementsAre(HasSubstr("a block of 33 x 32 in tiles of 16 x 16 takes more than the 8 tiles")));
  p.rows = std::int64_t{1} << 40;
  EXPECT_THAT(kernelRules(p), ElementsAre(HasSubstr("more than the 8 tiles")));
  p.rows = 0;
  EXPECT_THAT(kernelRules(p), ElementsAre(HasSubstr("a block of 0 x 32")));
  p.rows = 16;
  const auto program = vectorize(p, avx512Bf16Isa());
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.error().message, HasSubstr("avx512_bf16 has no tiles of"));
}

}  // namespace
}  // namespace cubejit
