// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are the parts of a weight gradient's sum as unequal as the chunks that codegen cuts, and do plans pay for that?
#include "tiling/chunk_deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "codegen/lower/pixel_chunks.h"
#include "runtime/verify/random_problem.h"
#include "tiling/weights_candidates.h"

namespace cubejit {
namespace {

// What the slowest core sums relative to the average, from the chunks themselves.
double measured(const ConvView& v, const TilingPlan& plan, std::int64_t copies, int cores) {
  const ChunkSizes sizes = v.line ? ChunkSizes{plan.baseBatch, 1, 1, plan.panelH}
                                  : ChunkSizes{plan.baseBatch, plan.panelD, plan.panelH, v.small.extent.w};
  const ChunkList list = makeChunks(v, sizes, plan.cores.reduction);
  std::vector<std::int64_t> tasks;
  for (const PixelChunk& c : list.chunks) {
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

TEST(ChunkDeal, IsWhatCodegenCuts) {
  std::mt19937_64 random(5);
  int unequal = 0, counted = 0;
  for (int i = 0; i < 300; ++i) {
    const ConvView v = makeConvView(randomProblem(random), Gradient::kDw);
    if (v.batch == 0) continue;
    const auto upTo = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
    TilingPlan plan;
    plan.gradient = Gradient::kDw;
    plan.panelH = upTo((v.line ? v.small.extent.w : v.small.extent.h) + 1);
    plan.panelD = upTo(v.small.extent.d);
    plan.baseBatch = upTo(v.batch);
    const ChunkDeal deal(v, plan);
    plan.cores.reduction = upTo(std::min<std::int64_t>(8, deal.chunks()));
    const ChunkSizes sizes = v.line ? ChunkSizes{plan.baseBatch, 1, 1, plan.panelH}
                                    : ChunkSizes{plan.baseBatch, plan.panelD, plan.panelH, v.small.extent.w};
    ASSERT_EQ(deal.chunks(), static_cast<std::int64_t>(makeChunks(v, sizes, 1).chunks.size()));
    const int cores = static_cast<int>(upTo(4));
    const std::int64_t copies = upTo(5);
    const double asked = deal.imbalance(plan.cores.reduction, copies, cores);
    EXPECT_DOUBLE_EQ(asked, measured(v, plan, copies, cores));
    unequal += asked > 1.05 ? 1 : 0;
    ++counted;
  }
  EXPECT_GT(counted, 200);
  EXPECT_GT(unequal, 50);
}

Machine avx512() { return hostMachine(avx512Isa(), 2, 32768, 1 << 20, 32 << 20); }

Problem volume(std::int64_t channels, Dhw extent, std::int64_t taps) {
  Problem p;
  p.rank = 3;
  p.batch = 1;
  p.cin = p.cout = channels;
  p.in = p.out = extent;
  p.kernel = {taps, taps, taps};
  p.padBefore = p.padAfter = {taps / 2, taps / 2, taps / 2};
  p.layout = Layout::kNdhwc;
  return p;
}

// Eight planes in chunks of three are six and two for two cores.
TEST(ChunkDeal, UnequalPartsOfASumCost) {
  const Problem p = volume(64, {8, 14, 14}, 3);
  TilingPlan plan;
  plan.gradient = Gradient::kDw;
  plan.baseRows = 8;
  plan.baseTapsW = 3;
  plan.panelH = 14;
  plan.cores.reduction = 2;
  const auto cycles = [&](std::int64_t planes) {
    plan.panelD = planes;
    return weightCost(p, plan, avx512()).totalCycles;
  };
  EXPECT_GT(cycles(3), 1.2 * cycles(2));
  EXPECT_GT(cycles(3), 1.2 * cycles(4));
}

// Lanes that are rows of a large dw are stored to as many pages; among equals they come second.
TEST(ChunkDeal, SwappedLanesOfLargeWeightsCostMore) {
  TilingPlan plan;
  plan.gradient = Gradient::kDw;
  plan.baseRows = 8;
  plan.baseTapsW = 3;
  plan.panelH = 7;
  plan.panelC = true;
  for (const std::int64_t channels : {64, 512}) {
    const Problem p = volume(channels, {1, 7, 7}, 3);
    plan.lanes = LaneRole::kChannels;
    const double channelLanes = weightCost(p, plan, avx512()).moveCycles;
    plan.lanes = LaneRole::kSwapped;
    const double swapped = weightCost(p, plan, avx512()).moveCycles;
    if (channels == 64)
      EXPECT_DOUBLE_EQ(swapped, channelLanes);
    else
      EXPECT_GT(swapped, channelLanes);
  }
}

}  // namespace
}  // namespace cubejit
