// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that reduction blocks cover each pixel once and that column runs are exactly the pixels the taps use.
#include "algorithms/kit/lower/pixel_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

TEST(PixelBlocks, CoverEachPixelOnceAndStartEachSplitOnce) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    const ConvView v = makeConvView(randomProblem(random, 2e4), Pass::kDx);
    const auto size = [&] { return 1 + static_cast<std::int64_t>(random() % 9); };
    const std::int64_t splits = 1 + static_cast<std::int64_t>(random() % 3);
    const PixelBlocks list = makePixelBlocks(v, {size(), size(), size()}, splits);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> seen;
    std::int64_t firsts = 0;
    for (const PixelBlock& c : list.blocks) {
      firsts += c.first ? 1 : 0;
      EXPECT_LT(c.cls, list.classes);
      for (std::int64_t n = c.n.lo; n < c.n.hi; ++n)
        for (std::int64_t d = c.d.lo; d < c.d.hi; ++d)
          for (std::int64_t h = c.h.lo; h < c.h.hi; ++h)
            for (std::int64_t w = c.w.lo; w < c.w.hi; ++w) ASSERT_TRUE(seen.insert({n, d, h, w}).second);
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), v.batch * v.small.extent.volume());
    EXPECT_LE(firsts, splits);
    EXPECT_EQ(firsts > 0, !list.blocks.empty());
    if (!list.blocks.empty()) {
      EXPECT_TRUE(list.blocks.front().first);
    }
  }
}

TEST(PixelBlocks, ColumnRunsAreThePixelsTheTapsUse) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const ConvView v = makeConvView(randomProblem(random, 2e4), Pass::kDx);
    if (v.batch == 0) continue;
    const PixelBlocks list = makePixelBlocks(v, {1, 1, 1 + static_cast<std::int64_t>(random() % 20)}, 1);
    const std::int64_t block = 1 + static_cast<std::int64_t>(random() % 4);
    for (const PixelBlock& c : list.blocks) {
      for (std::int64_t k0 = 0; k0 < v.kernel.w; k0 += block) {
        const std::int64_t taps = std::min(block, v.kernel.w - k0);
        std::set<std::pair<std::int64_t, std::int64_t>> want, got;
        for (std::int64_t o = c.w.lo; o < c.w.hi; ++o) {
          for (std::int64_t t = 0; t < taps; ++t) {
            const std::int64_t at = o * v.stride.w + (k0 + t) * v.dilation.w - v.pad.w;
            if (at >= 0 && at < v.big.extent.w) want.insert({o - c.w.lo, t});
          }
        }
        for (const ColumnRun& run : columnRuns(v, c, k0, taps)) {
          for (std::int64_t o = run.start; o < run.start + run.length; ++o)
            for (std::int64_t t = run.tapLo; t < run.tapHi; ++t) ASSERT_TRUE(got.insert({o, t}).second);
        }
        ASSERT_EQ(got, want);
      }
    }
  }
}

}  // namespace
}  // namespace cubejit
