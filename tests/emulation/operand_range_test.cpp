// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that pairs are multiplied by dot products exactly where that changes no bit.
#include "emulation/operand_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "codegen/tile/element.h"

namespace cubejit {
namespace {

OperandRange rangeOfWords(const std::vector<std::uint16_t>& words) {
  return rangeOf(reinterpret_cast<const std::byte*>(words.data()), static_cast<std::int64_t>(words.size()));
}

TEST(OperandRange, IsOfWhatIsNotZero) {
  EXPECT_EQ(rangeOfWords({0, 0x8000}).least, 127);
  EXPECT_EQ(rangeOfWords({0x3f80, 0, 0xc000}).least, 127);  // 1, -2
  EXPECT_EQ(rangeOfWords({0x3f80, 0, 0xc000}).most, 128);
  EXPECT_EQ(rangeOfWords({0x3f80, 0x0001}).least, 0);  // denormal
  EXPECT_EQ(rangeOfWords({0x3f80, 0xff80}).most, 255);
  EXPECT_EQ(rangeOfWords({}).most, 127);
}

TEST(OperandRange, DenormalsInfinitiesAndProductsOutOfRangeAreRefused) {
  const OperandRange one{127, 127};
  EXPECT_TRUE(pairsAreExact(one, one));
  EXPECT_TRUE(pairsAreExact({71, 127}, {71, 127}));
  EXPECT_FALSE(pairsAreExact({71, 127}, {70, 127}));
  EXPECT_FALSE(pairsAreExact({0, 127}, {200, 200}));
  EXPECT_FALSE(pairsAreExact(one, {127, 255}));
  EXPECT_TRUE(pairsAreExact({127, 170}, {127, 169}));
  EXPECT_FALSE(pairsAreExact({127, 170}, {127, 170}));
}

// Random operands at the edge of what is allowed: a chain of pairs is a chain of single steps, the second of a pair first.
TEST(OperandRange, AtItsEdgeBothWaysLeaveTheSameBits) {
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

}  // namespace
}  // namespace cubejit
