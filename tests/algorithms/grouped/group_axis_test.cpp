// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that blocks hold exactly the (result, tap, operand) triples of the convolution, and that blocks cover the axis once.
#include "algorithms/grouped/lower/group_axis.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

namespace cubejit {
namespace {

using Triple = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // result, tap, operand

std::set<Triple> triplesOf(const AxisRelation& rel) {
  std::set<Triple> all;
  for (std::int64_t result = 0; result < rel.results; ++result) {
    for (std::int64_t operand = 0; operand < rel.operands; ++operand) {
      const std::int64_t small = rel.gather ? operand : result, big = rel.gather ? result : operand;
      for (std::int64_t k = 0; k < rel.kernel; ++k) {
        if (small * rel.stride + k * rel.dilation - rel.pad == big) all.emplace(result, k, operand);
      }
    }
  }
  return all;
}

TEST(GroupAxis, PairsAreThoseOfTheConvolution) {
  std::mt19937 random(7);
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
  for (int i = 0; i < 2000; ++i) {
    const AxisRelation rel{pick(0, 1) == 1, pick(1, 20), pick(1, 20), pick(1, 9), pick(1, 4), pick(1, 3), pick(0, 5)};
    const std::int64_t length = pick(1, 8);
    const GroupAxis axis = makeGroupAxis(rel, length);
    std::set<Triple> found;
    std::int64_t covered = 0, lo = rel.operands, hi = 0;
    for (std::int64_t b = 0; b < axis.blocks(); ++b) {
      const GroupBlock block = axis.block(b);
      const GroupBlockClass& cls = axis.classes[static_cast<std::size_t>(block.cls)];
      EXPECT_EQ(block.start, covered);
      covered += cls.length;
      for (const TapPair& pair : cls.pairs) {
        EXPECT_TRUE(found.emplace(block.start + pair.u, pair.k, block.anchor + pair.offset).second) << "a pair twice";
        lo = std::min(lo, block.anchor + pair.offset);
        hi = std::max(hi, block.anchor + pair.offset + 1);
      }
    }
    EXPECT_EQ(covered, rel.results);
    EXPECT_EQ(found, triplesOf(rel)) << "case " << i;
    if (found.empty()) continue;
    const Range range = operandRange(axis, 0, axis.blocks());
    EXPECT_EQ(range.lo, lo);
    EXPECT_EQ(range.hi, hi);
  }
}

TEST(GroupAxis, InteriorBlocksShareOneClass) {
  const GroupAxis axis = makeGroupAxis(AxisRelation{true, 56, 56, 3, 1, 1, 1}, 8);
  ASSERT_EQ(axis.blocks(), 7);
  EXPECT_EQ(axis.classes.size(), 3U);
  for (std::int64_t i = 2; i < 6; ++i) EXPECT_EQ(axis.block(i).cls, axis.block(1).cls);
  EXPECT_EQ(axis.classes[static_cast<std::size_t>(axis.block(1).cls)].pairs.size(), 24U);
  EXPECT_EQ(axis.classes[static_cast<std::size_t>(axis.block(0).cls)].pairs.size(), 23U);
}

}  // namespace
}  // namespace cubejit
