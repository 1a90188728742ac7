// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks candidates and costs of the direct weight gradient.
#include "algorithms/direct_weights/direct_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "algorithms/kit/reorder.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Machine avx512() { return hostMachine(avx512Isa(), 2, 32768, 1 << 20, 32 << 20); }

Problem volume(std::int64_t channels, Dhw extent, std::int64_t taps) {
  return problemOf(1, channels, channels, extent, {taps, taps, taps}, {taps / 2, taps / 2, taps / 2});
}

// Each reduction block of a line loads and stores all sums: none of a few pixels is left over, and few pixels may be one reduction block.
TEST(WeightCandidates, ReductionBlocksOfALineAreNearlyEqualAndOneIsTheLine) {
  const Machine machine = hostMachine(avx512Isa(), 2, 32 << 10, 1 << 20, 32 << 20);
  constexpr std::int64_t kPixels = 4 * 7 * 7;
  bool whole = false;
  for (const DirectWeightsPlan& plan : directWeightsCandidates(pointwise(512, 2048, 7), machine)) {
    const std::int64_t rest = kPixels % plan.reduction.h;
    EXPECT_TRUE(rest == 0 || 2 * rest >= plan.reduction.h) << plan.reduction.h;
    whole = whole || plan.reduction.h == kPixels;
  }
  EXPECT_TRUE(whole);
}

// A strided layer of one tap reads one pixel of four: its reduction blocks are as long as an unstrided one's.
TEST(WeightCandidates, PixelsThatStridesPassOverTakeNoRoom) {
  const Machine machine = hostMachine(avx512Isa(), 2, 32 << 10, 1 << 20, 32 << 20);
  Problem p = pointwise(1024, 2048, 7);
  p.in = Dhw{1, 14, 14};
  p.stride = Dhw{1, 2, 2};
  std::int64_t images = 0;
  for (const DirectWeightsPlan& plan : directWeightsCandidates(p, machine)) images = std::max(images, plan.reduction.n);
  EXPECT_EQ(images, p.batch);
}

// A reduction block of all pixels completes a block's sums in one pass: it costs less than two reduction blocks.
TEST(WeightCandidates, AllPixelsMayBeOneReductionBlockOfPrivateSums) {
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  Problem p = layer(Layout::kNdhwc);
  p.cin = p.cout = 256;
  p.in = p.out = Dhw{1, 14, 14};
  double once = std::numeric_limits<double>::infinity(), twice = once;
  for (DirectWeightsPlan plan : directWeightsCandidates(p, machine)) {
    if (!plan.bufferC || plan.reduction.n != p.batch || plan.reduction.h != 14 ||
        plan.vectorize != WeightVectors::kChannels)
      continue;
    once = std::min(once, directWeightsCost(p, plan, machine).totalCycles);
    plan.reduction.n = 2;
    twice = std::min(twice, directWeightsCost(p, plan, machine).totalCycles);
  }
  EXPECT_LT(once, twice);  // and there is one
}

// The first block of rows copies its lanes for the others: worth it where there are many of them, and only with one tap.
TEST(WeightCandidates, LanesMayBeCopiedAtFirstTouch) {
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  const auto touched = [&](const Problem& p) {
    const std::vector<DirectWeightsPlan> plans = directWeightsCandidates(p, machine);
    return std::count_if(plans.begin(), plans.end(),
                         [](const DirectWeightsPlan& plan) { return plan.packsOnFirstUse(); });
  };
  EXPECT_GT(touched(pointwise(1024, 256, 14)), 0);
  EXPECT_EQ(touched(pointwise(16, 16, 14)), 0);
  EXPECT_EQ(touched(layer(Layout::kNdhwc)), 0);
}

// Pixels a page apart share few sets of the caches. Zen5 waits for that, and such an operand goes through a panel.
TEST(WeightCandidates, OperandsThatCrowdMayBeStagedAlone) {
  const Problem p = pointwise(1024, 256, 14);  // f32: pixels of x lie 4096 bytes apart, those of dy 1024
  for (const HostCore core : {HostCore::kZen4, HostCore::kZen5}) {
    bool one = false, other = false;
    for (const DirectWeightsPlan& plan :
         directWeightsCandidates(p, hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, core))) {
      const bool operandsTransposed = plan.vectorize == WeightVectors::kTransposed;
      one = one || (operandsTransposed ? plan.packA : plan.packsVectors());
      other = other || (operandsTransposed ? plan.packsVectors() : plan.packA);
    }
    EXPECT_EQ(one, core == HostCore::kZen5);
    EXPECT_FALSE(other);
  }
}

// 20 channels fill 20 of 32 lanes, three taps of them 60 of 64.
TEST(WeightCandidates, TapsAreJoinedWhereChannelsLeaveLanesIdle) {
  const auto lanesOf = [](std::int64_t in, std::int64_t out) {
    Problem p = layer(Layout::kNdhwc);
    p.cin = in;
    p.cout = out;
    return choosePlan(p, Pass::kDw, hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20), false)
        ->plan.as<DirectWeightsPlan>()
        .vectorize;
  };
  EXPECT_EQ(lanesOf(20, 20), WeightVectors::kKernelWidth);
  EXPECT_EQ(lanesOf(36, 18), WeightVectors::kKernelWidth);
  EXPECT_NE(lanesOf(64, 64), WeightVectors::kKernelWidth);
  EXPECT_NE(lanesOf(20, 64), WeightVectors::kKernelWidth);
}

// Eight planes in reduction blocks of three are six and two for two cores.
TEST(ReductionPartition, UnequalPartsOfASumCost) {
  const Problem p = volume(64, {8, 14, 14}, 3);
  DirectWeightsPlan plan;
  plan.registerRows = 8;
  plan.registerTaps = 3;
  plan.reduction.h = 14;
  plan.reductionParts = 2;
  const auto cycles = [&](std::int64_t planes) {
    plan.reduction.d = planes;
    return directWeightsCost(p, plan, avx512()).totalCycles;
  };
  EXPECT_GT(cycles(3), 1.2 * cycles(2));
  EXPECT_GT(cycles(3), 1.2 * cycles(4));
}

// Lanes that are rows of a large dw are stored to as many pages; among equals they come second.
TEST(ReductionPartition, SwappedLanesOfLargeWeightsCostMore) {
  DirectWeightsPlan plan;
  plan.registerRows = 8;
  plan.registerTaps = 3;
  plan.reduction.h = 7;
  plan.bufferC = true;
  for (const std::int64_t channels : {64, 512}) {
    const Problem p = volume(channels, {1, 7, 7}, 3);
    plan.vectorize = WeightVectors::kChannels;
    const double channelLanes = directWeightsCost(p, plan, avx512()).moveCycles;
    plan.vectorize = WeightVectors::kTransposed;
    const double operandsTransposed = directWeightsCost(p, plan, avx512()).moveCycles;
    if (channels == 64)
      EXPECT_DOUBLE_EQ(operandsTransposed, channelLanes);
    else
      EXPECT_GT(operandsTransposed, channelLanes);
  }
}

}  // namespace
}  // namespace cubejit
