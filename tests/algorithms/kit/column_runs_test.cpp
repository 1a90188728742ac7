// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that pairs of columns cover what taps use once, pair only what both columns use, and cost no more than runs paired by
// themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/kit/column_runs.h"

namespace cubejit {
namespace {

std::vector<Range> reaches(std::int64_t taps, std::int64_t stride, std::int64_t pad, std::int64_t columns,
                           std::int64_t extent) {
  std::vector<Range> out(static_cast<std::size_t>(taps));
  for (std::int64_t t = 0; t < taps; ++t) {
    Range& reach = out[static_cast<std::size_t>(t)];
    for (std::int64_t o = columns - 1; o >= 0; --o) {
      const std::int64_t at = o * stride + t - pad;
      if (at < 0 || at >= extent) continue;
      reach.lo = o;
      reach.hi = std::max(reach.hi, o + 1);
    }
  }
  return out;
}

std::int64_t stepsOf(const std::vector<PairedRun>& runs) {
  std::int64_t steps = 0;
  for (const PairedRun& r : runs) steps += r.steps() * r.columns.taps();
  return steps;
}

TEST(ColumnRuns, PairsCoverWhatTapsUse) {
  std::mt19937_64 random(3);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t taps = 1 + below(6), columns = 1 + below(20), stride = 1 + below(3), pad = below(taps + 2);
    const std::vector<Range> reach = reaches(taps, stride, pad, columns, 1 + below(24));
    std::set<std::pair<std::int64_t, std::int64_t>> want, got;
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t o = reach[static_cast<std::size_t>(t)].lo; o < reach[static_cast<std::size_t>(t)].hi; ++o)
        want.insert({o, t});
    const std::vector<ColumnRun> runs = columnRuns(reach, columns);
    const std::vector<PairedRun> pairs = pairedColumns(runs, 1 + below(16), 1 + below(8));
    for (const PairedRun& r : pairs) {
      ASSERT_TRUE(r.single || r.columns.length % 2 == 0);
      for (std::int64_t o = r.columns.start; o < r.columns.start + r.columns.length; ++o)
        for (std::int64_t t = r.columns.tapLo; t < r.columns.tapHi; ++t) ASSERT_TRUE(got.insert({o, t}).second);
    }
    ASSERT_EQ(got, want);
    ASSERT_LE(stepsOf(pairs), stepsOf(column_runs_detail::pairedWithin(runs)));
  }
}

// Stride 2 and a column of padding: the first of 14 columns misses a tap, which leaves 13.
TEST(ColumnRuns, OddOnesShareAWordWithTheNextRun) {
  const std::vector<ColumnRun> runs = columnRuns(reaches(3, 2, 1, 14, 28), 14);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(stepsOf(column_runs_detail::pairedWithin(runs)), 2 + 3 * 7);
  EXPECT_EQ(stepsOf(pairedColumns(runs, 8, 8)), 2 + 1 + 3 * 6);
  // As many steps, and two of them of single columns of one tap: not worth it.
  const std::vector<ColumnRun> even = columnRuns(reaches(3, 1, 1, 14, 14), 14);
  EXPECT_EQ(stepsOf(pairedColumns(even, 8, 8)), 2 + 3 * 6 + 2);
}

}  // namespace
}  // namespace cubejit
