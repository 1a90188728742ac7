// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that pairs are multiplied by dot products exactly where that changes no bit.
#include "emulation/exponent_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "codegen/tile/element.h"

namespace cubejit {
namespace {

ExponentRange rangeOfWords(const std::vector<std::uint16_t>& words) {
  return rangeOf(reinterpret_cast<const std::byte*>(words.data()), static_cast<std::int64_t>(words.size()),
                 DType::kBf16);
}

TEST(ExponentRange, IsOfWhatIsNotZero) {
  EXPECT_EQ(rangeOfWords({0, 0x8000}).least, 127);
  EXPECT_EQ(rangeOfWords({0x3f80, 0, 0xc000}).least, 127);  // 1, -2
  EXPECT_EQ(rangeOfWords({0x3f80, 0, 0xc000}).most, 128);
  EXPECT_EQ(rangeOfWords({0x3f80, 0x0001}).least, 0);  // denormal
  EXPECT_EQ(rangeOfWords({0x3f80, 0xff80}).most, 255);
  EXPECT_EQ(rangeOfWords({}).most, 127);
}

TEST(ExponentRange, DenormalsInfinitiesAndProductsOutOfRangeAreRefused) {
  const ExponentRange one{127, 127};
  EXPECT_TRUE(pairsAreExact(one, one));
  EXPECT_TRUE(pairsAreExact({71, 127}, {71, 127}));
  EXPECT_FALSE(pairsAreExact({71, 127}, {70, 127}));
  EXPECT_FALSE(pairsAreExact({0, 127}, {200, 200}));
  EXPECT_FALSE(pairsAreExact(one, {127, 255}));
  EXPECT_TRUE(pairsAreExact({127, 170}, {127, 169}));
  EXPECT_FALSE(pairsAreExact({127, 170}, {127, 170}));
}

// Random operands at the edge of what is allowed: a chain of pairs is a chain of single steps, the second of a pair first.
TEST(ExponentRange, AtItsEdgeBothWaysLeaveTheSameBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint16_t> a, b;
    for (int k = 0; k < 64; ++k) {  // exponents 71 to 75: products near 2^-112, sums that cancel
      a.push_back(static_cast<std::uint16_t>((random() & 0x807f) | (71 + random() % 5) << 7));
      b.push_back(static_cast<std::uint16_t>((random() & 0x807f) | (71 + random() % 5) << 7));
    }
    ASSERT_TRUE(pairsAreExact(rangeOfWords(a), rangeOfWords(b)));
    float dots = 0, singly = 0;
    for (std::size_t k = 0; k < a.size(); k += 2) {
      const auto pair = [&](const std::vector<std::uint16_t>& v) {
        return v[k] | static_cast<std::uint32_t>(v[k + 1]) << 16;
      };
      const auto wide = [](std::uint16_t v) { return floatOf(static_cast<std::uint32_t>(v) << 16); };
      dots = dotPairs(dots, pair(a), pair(b));
      singly = std::fma(wide(a[k]), wide(b[k]), std::fma(wide(a[k + 1]), wide(b[k + 1]), singly));
      ASSERT_EQ(bitsOf(dots), bitsOf(singly)) << i;
    }
  }
}

TEST(ExponentRange, OfEveryType) {
  const std::uint16_t halves[] = {0x3c00, 0, 0xc000};  // 1, 0, -2
  const ExponentRange half = rangeOf(reinterpret_cast<const std::byte*>(halves), 3, DType::kF16);
  EXPECT_EQ(half.least, 15);
  EXPECT_EQ(half.most, 16);
  EXPECT_EQ(rangeOf(reinterpret_cast<const std::byte*>(halves + 1), 1, DType::kF16).most, 15);
  const float words[] = {0.25F, -0.0F, 3.0F, 0x1p-140F};
  const ExponentRange word = rangeOf(reinterpret_cast<const std::byte*>(words), 4, DType::kHf32);
  EXPECT_EQ(word.least, 0);
  EXPECT_EQ(word.most, 128);
  EXPECT_EQ(rangeOf(reinterpret_cast<const std::byte*>(words), 3, DType::kF32).least, 125);
}

TEST(ExponentRange, ZerosAddNothingToFiniteProductsThatDoNotUnderflow) {
  const ExponentRange one{127, 127};
  EXPECT_TRUE(zerosAddNothing(DType::kF16, {0, 31}, {0, 30}));
  EXPECT_FALSE(zerosAddNothing(DType::kF16, {0, 15}, {0, 31}));
  EXPECT_TRUE(zerosAddNothing(DType::kBf16, {0, 255}, {118, 254}));
  EXPECT_FALSE(zerosAddNothing(DType::kBf16, {0, 127}, {117, 127}));
  EXPECT_FALSE(zerosAddNothing(DType::kBf16, one, {127, 255}));
  EXPECT_TRUE(zerosAddNothing(DType::kF32, {75, 127}, {76, 253}));
  EXPECT_FALSE(zerosAddNothing(DType::kF32, {75, 127}, {75, 127}));
  EXPECT_FALSE(zerosAddNothing(DType::kHf32, one, {127, 254}));
}

// At the edge sums never become -0, which a zero that is added would change; a step below it they do.
TEST(ExponentRange, AtTheEdgeNoSumIsAMinusZero) {
  std::mt19937_64 random(2);
  const auto word = [&](std::uint64_t exponent) {
    return floatOf(static_cast<std::uint32_t>((random() & 0x807fffffU) | exponent << 23));
  };
  int minusZeros = 0;
  for (const bool below : {false, true}) {
    for (int i = 0; i < 20000; ++i) {
      float sum = 0;
      for (int k = 0; k < 8; ++k) {
        const float a = word(75), b = word(below ? 20 : 76);
        if (!below) {
          ASSERT_TRUE(zerosAddNothing(DType::kF32, {75, 75}, {76, 76}));
        }
        sum = std::fma(a, b, k % 2 == 0 ? sum : std::fma(-a, b, sum));
        minusZeros += below && bitsOf(sum) == 0x80000000U ? 1 : 0;
        const float zero = std::fma(0.0F, b, sum);
        if (!below) {
          ASSERT_EQ(bitsOf(zero), bitsOf(sum));
        }
      }
    }
  }
  EXPECT_GT(minusZeros, 0);
}

}  // namespace
}  // namespace cubejit
