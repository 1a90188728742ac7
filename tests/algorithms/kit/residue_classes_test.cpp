// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks residues, taps and blocks of one axis against the definition, by hand and by brute force.
#include "algorithms/kit/residue_classes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "algorithms/kit/lower/blocked_axis.h"

namespace cubejit {
namespace {

using Triple = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // result, kernel position, operand

// Straight from i = o*stride + k*dilation - pad; results are i of the big tensor when gathering, o otherwise.
std::set<Triple> pairsByDefinition(const AxisRelation& rel) {
  std::set<Triple> pairs;
  const std::int64_t small = rel.gather ? rel.operands : rel.results, big = rel.gather ? rel.results : rel.operands;
  for (std::int64_t o = 0; o < small; ++o) {
    for (std::int64_t k = 0; k < rel.kernel; ++k) {
      const std::int64_t i = o * rel.stride + k * rel.dilation - rel.pad;
      if (i >= 0 && i < big) pairs.insert(rel.gather ? Triple{i, k, o} : Triple{o, k, i});
    }
  }
  return pairs;
}

AxisRelation randomRelation(std::mt19937_64& random) {
  const auto from = [&](std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(hi - lo + 1));
  };
  return AxisRelation{random() % 2 == 0, from(1, 20), from(1, 20), from(1, 6), from(1, 5), from(1, 4), from(0, 9)};
}

TEST(ResidueClasses, StrideOneIsOnePhaseWithShortenedTaps) {
  const auto residues = residueClasses(AxisRelation{true, 5, 5, 3, 1, 1, 1});
  ASSERT_EQ(residues.size(), 1U);
  EXPECT_EQ(residues[0].count, 5);
  const std::vector<BlockTap> taps{{0, 1, 0, 4}, {1, 0, 0, 5}, {2, -1, 1, 5}};
  EXPECT_EQ(residues[0].taps, taps);
}

TEST(ResidueClasses, StrideTwoDealsTapsToResidueClasses) {
  const AxisRelation rel{true, 8, 4, 3, 2, 1, 1};
  const auto residues = residueClasses(rel);
  ASSERT_EQ(residues.size(), 2U);
  EXPECT_EQ(residues[0].start, 0);
  ASSERT_EQ(residues[0].taps.size(), 1U);
  EXPECT_EQ(residues[0].taps[0].k, 1);
  EXPECT_EQ(residues[1].taps.size(), 2U);
  EXPECT_FALSE(leavesGaps(rel, residues));
}

TEST(ResidueClasses, StridesBeyondTheKernelAndCommonFactorsLeaveGaps) {
  const AxisRelation wide{true, 9, 3, 1, 3, 1, 0};
  EXPECT_EQ(residueClasses(wide).size(), 1U);
  EXPECT_TRUE(leavesGaps(wide, residueClasses(wide)));
  const AxisRelation common{true, 13, 5, 3, 2, 2, 0};  // every tap lands on even positions
  EXPECT_EQ(residueClasses(common).size(), 1U);
  EXPECT_EQ(residueClasses(common)[0].taps.size(), 3U);
  EXPECT_TRUE(leavesGaps(common, residueClasses(common)));
  const AxisRelation coprime{true, 13, 4, 3, 2, 3, 0};
  EXPECT_FALSE(leavesGaps(coprime, residueClasses(coprime)));
}

TEST(ResidueClasses, AreThePairsOfTheDefinition) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const AxisRelation rel = randomRelation(random);
    std::set<Triple> pairs;
    for (const ResidueClass& residue : residueClasses(rel)) {
      for (const BlockTap& tap : residue.taps) {
        for (std::int64_t j = tap.lo; j < tap.hi; ++j) {
          const Triple pair{residue.start + (rel.gather ? rel.stride : 1) * j, tap.k,
                            (rel.gather ? 1 : rel.stride) * j + tap.offset};
          EXPECT_TRUE(pairs.insert(pair).second) << "a pair comes twice";
        }
      }
    }
    ASSERT_EQ(pairs, pairsByDefinition(rel)) << i;
  }
}

TEST(BlockedAxis, CoversEveryPairOnceAndEveryResultBelongsToOneCacheBlock) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    const AxisRelation rel = randomRelation(random);
    const std::int64_t block = 1 + static_cast<std::int64_t>(random() % 5),
                       length = block * static_cast<std::int64_t>(random() % 4);
    const BlockedAxis axis = makeBlockedAxis(rel, block, length);
    std::set<Triple> pairs;
    std::map<std::int64_t, int> owners, covered;
    for (const AxisCacheBlock& cache : axis.cacheBlocks) {
      for (std::int64_t r = cache.results.lo; r < cache.results.hi; ++r) ++owners[r];
      EXPECT_LE(cache.results.length(), axis.panelResults);
      EXPECT_EQ(cache.results.length(), axis.resultsOf(cache.cls));
      EXPECT_EQ(cache.operands.length(), axis.operandsOf(cache.cls));
      for (const AxisRegisterBlock& within : axis.registerBlocks) {
        const BlockClass* kind = axis.blockOf(cache.cls, within.cls);
        if (kind == nullptr) continue;
        for (std::int64_t u = 0; u < kind->length; ++u)
          ++covered[cache.results.lo + within.resultOffset + axis.resultStep * u];
        for (const BlockTap& tap : kind->taps) {
          for (std::int64_t u = tap.lo; u < tap.hi; ++u) {
            const std::int64_t operand =
                cache.operandStart.base + within.operandOffset + axis.operandStep * u + tap.offset;
            EXPECT_GE(operand, cache.operands.lo);
            EXPECT_LT(operand, cache.operands.hi);
            EXPECT_LT(operand - cache.operandStart.origin, axis.panelOperands);
            EXPECT_TRUE(
                pairs.insert({cache.results.lo + within.resultOffset + axis.resultStep * u, tap.k, operand}).second);
          }
        }
      }
    }
    ASSERT_EQ(pairs, pairsByDefinition(rel)) << i;
    ASSERT_EQ(owners.size(), static_cast<std::size_t>(rel.results));
    for (const auto& [result, count] : owners) EXPECT_TRUE(result >= 0 && result < rel.results && count == 1);
    for (const auto& [result, count] : covered) EXPECT_TRUE(result >= 0 && result < rel.results && count == 1);
  }
}

}  // namespace
}  // namespace cubejit
