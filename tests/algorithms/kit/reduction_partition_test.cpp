// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are the parts of a weight gradient's sum as unequal as the reduction blocks that codegen cuts, and do plans pay for that?
#include "algorithms/kit/reduction_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "algorithms/kit/lower/pixel_blocks.h"
#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

// What the slowest core sums relative to the average, from the reduction blocks themselves.
double measured(const ConvView& v, const ReductionBlock& block, std::int64_t splits, std::int64_t copies, int cores) {
  const PixelBlocks list = makePixelBlocks(v, block, splits);
  std::vector<std::int64_t> tasks;
  for (const PixelBlock& c : list.blocks) {
    if (c.first) tasks.push_back(0);
    tasks.back() += c.n.length() * c.d.length() * c.h.length() * c.w.length();
  }
  std::vector<std::int64_t> busy(static_cast<std::size_t>(cores), 0);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < copies; ++i) {
    for (const std::int64_t pixels : tasks) {
      *std::min_element(busy.begin(), busy.end()) += pixels;
      total += pixels;
    }
  }
  return static_cast<double>(*std::max_element(busy.begin(), busy.end())) * cores / static_cast<double>(total);
}

TEST(ReductionPartition, IsWhatCodegenCuts) {
  std::mt19937_64 random(5);
  int unequal = 0, counted = 0;
  for (int i = 0; i < 300; ++i) {
    const ConvView v = makeConvView(randomProblem(random), Pass::kDw);
    if (v.batch == 0) continue;
    const auto upTo = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
    ReductionBlock block;
    block.h = upTo((v.oneAxis ? v.small.extent.w : v.small.extent.h) + 1);
    block.d = upTo(v.small.extent.d);
    block.n = upTo(v.batch);
    const ReductionPartition partition(v, block);
    const std::int64_t splits = upTo(std::min<std::int64_t>(8, partition.blocks()));
    ASSERT_EQ(partition.blocks(), static_cast<std::int64_t>(makePixelBlocks(v, block, 1).blocks.size()));
    const int cores = static_cast<int>(upTo(4));
    const std::int64_t copies = upTo(5);
    const double asked = partition.imbalance(splits, copies, cores);
    EXPECT_DOUBLE_EQ(asked, measured(v, block, splits, copies, cores));
    unequal += asked > 1.05 ? 1 : 0;
    ++counted;
  }
  EXPECT_GT(counted, 200);
  EXPECT_GT(unequal, 50);
}

}  // namespace
}  // namespace cubejit
