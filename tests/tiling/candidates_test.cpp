// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every family of candidates has complete, costed plans for ordinary problems, and the host in an NPU's terms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cubejit/staging.h"
#include "tests/support/host.h"
#include "tiling/bias_candidates.h"
#include "tiling/data_candidates.h"
#include "tiling/pixel_candidates.h"
#include "tiling/planner.h"
#include "tiling/weight_pixel_candidates.h"
#include "tiling/weights_candidates.h"

namespace cubejit {
namespace {

Problem layer(Layout layout) {
  Problem p;
  p.rank = 2;
  p.batch = 4;
  p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 28, 28};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.layout = layout;
  return p;
}

struct Family {
  Gradient gradient;
  std::vector<TilingPlan> (*candidates)(const Problem&, const Machine&);
  PlanCost (*cost)(const Problem&, const TilingPlan&, const Machine&);
};

TEST(Candidates, AreCompleteSomeAreLegalAndCostsArePositive) {
  const Family families[] = {{Gradient::kDx, dataChannelCandidates, dataChannelCost},
                             {Gradient::kDx, dataPixelCandidates, dataPixelCost},
                             {Gradient::kDw, weightCandidates, weightCost},
                             {Gradient::kDb, biasCandidates, biasCost}};
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const Machine machine = hostOf(level);
    for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
      for (const Family& family : families) {
        Problem p = layer(layout);
        // Pixel lanes are for plain tensors and for few channels.
        if (family.candidates == dataPixelCandidates && layout == Layout::kNdhwc) p.cin = 3;
        int legal = 0;
        for (const TilingPlan& plan : family.candidates(p, machine)) {
          EXPECT_EQ(plan.gradient, family.gradient);
          for (const std::string& rule : checkPlan(p, plan, machine))
            EXPECT_EQ(rule.find("must be at least 1"), std::string::npos) << rule;
          if (!checkPlan(p, plan, machine).empty()) continue;
          ++legal;
          EXPECT_GT(family.cost(p, plan, machine).totalCycles, 0);
        }
        EXPECT_GT(legal, 0) << toString(family.gradient) << " " << toString(level);
      }
    }
  }
}

// One channel a group fills registers with rows of H: each operand row that is loaded then serves several.
TEST(DataPixels, DepthwiseTilesHaveRows) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  Problem p = layer(Layout::kNcdhw);
  p.groups = p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 56, 56};
  std::int64_t most = 1;
  double one = 0, many = 0;
  for (const TilingPlan& plan : dataPixelCandidates(p, machine)) {
    EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
    most = std::max(most, plan.baseH);
    if (plan.baseVectors != 4 || (plan.baseH != 1 && plan.baseH != 4)) continue;
    double& least = plan.baseH == 1 ? one : many;
    const double cycles = dataPixelCost(p, plan, machine).totalCycles;
    least = least == 0 ? cycles : std::min(least, cycles);
  }
  EXPECT_GE(most, 6);
  EXPECT_LT(many, 0.7 * one);  // measured: 0.45
}

TEST(WeightPixels, AreForFewPairsOfChannelsOutOfPlainTensors) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  Problem p = layer(Layout::kNcdhw);
  EXPECT_TRUE(weightPixelCandidates(p, machine).empty());  // 64 x 64 pairs
  p.groups = 64;
  const std::vector<TilingPlan> plans = weightPixelCandidates(p, machine);
  ASSERT_FALSE(plans.empty());
  double one = 0, many = 0;
  for (const TilingPlan& plan : plans) {
    EXPECT_THAT(checkPlan(p, plan, machine), testing::IsEmpty());
    const double cycles = weightPixelCost(p, plan, machine).totalCycles;
    EXPECT_GT(cycles, 0);
    double& least = plan.baseH == 1 ? one : many;
    least = least == 0 ? cycles : std::min(least, cycles);
  }
  EXPECT_LT(many, one);  // rows share vectors of x
  p.layout = Layout::kNdhwc;
  EXPECT_TRUE(weightPixelCandidates(p, machine).empty());
}

// Lanes of reduced channels: a vector of partial sums waits for each result of a slab.
TEST(DataReduced, SumsThatDoNotFitL2AreReadFromAfar) {
  const Machine machine = hostMachine(avx512Isa(), 2, 32768, 1 << 20, 32 << 20);
  Problem p = layer(Layout::kNdhwc);
  p.rank = 3;
  p.cin = 3;
  p.in = p.out = Dhw{16, 64, 64};
  TilingPlan plan;
  plan.lanes = LaneRole::kReduced;
  plan.panelC = true;
  plan.baseW = 8;
  plan.panelH = 8;
  const double near = dataReducedCost(p, plan, machine).memoryCycles;
  plan.panelD = 16;
  EXPECT_GT(dataReducedCost(p, plan, machine).memoryCycles, 1.2 * near);
}

Problem pointwise(std::int64_t cin, std::int64_t cout, std::int64_t side) {
  Problem p = layer(Layout::kNdhwc);
  p.cin = cin;
  p.cout = cout;
  p.in = p.out = Dhw{1, side, side};
  p.kernel = Dhw{1, 1, 1};
  p.padBefore = p.padAfter = Dhw{0, 0, 0};
  return p;
}

// Slabs of a power of two of boxes leave some cores with one more than others: some are equal shares.
TEST(DataCandidates, SomeSlabsAreEqualSharesOfTheCores) {
  constexpr std::int64_t kPixels = 4 * 14 * 14, kCores = 3;
  bool equal = false;
  for (const TilingPlan& plan :
       dataChannelCandidates(pointwise(1024, 256, 14), hostMachine(avx512Isa(), kCores, 32 << 10, 1 << 20, 32 << 20))) {
    const std::int64_t first = (kCores - 1) * plan.panelH, last = kPixels - first;
    equal = equal || (0 < last && last <= plan.panelH && 10 * last >= 9 * plan.panelH);
  }
  EXPECT_TRUE(equal);
}

// Planes come from memory once if a task goes on from plane to plane, or copies some of them, and lines that are asked for are not waited for; near
// volumes need none of it.
TEST(DataCandidates, FarVolumesHaveTasksOfSeveralPlanesAndPanels) {
  const Machine m = hostOf(IsaLevel::kAvx512);
  for (const bool far : {false, true}) {
    Problem p = layer(Layout::kNdhwc);
    p.rank = 3;
    p.batch = 1;
    p.in = p.out = far ? Dhw{64, 64, 64} : Dhw{8, 14, 14};
    p.kernel = Dhw{3, 3, 3};
    p.padBefore = p.padAfter = Dhw{1, 1, 1};
    bool depths = false, panels = false, asks = false;
    double inPlace = std::numeric_limits<double>::infinity(), best = inPlace;
    for (const TilingPlan& plan : dataChannelCandidates(p, m)) {
      if (plan.panelB || !checkPlan(p, plan, m).empty()) continue;
      depths |= plan.panelD > 1;
      panels |= plan.panelA;
      asks |= plan.prefetch == Prefetch::kOperands;
      best = std::min(best, dataChannelCost(p, plan, m).totalCycles);
      TilingPlan unasked = plan;
      unasked.prefetch = Prefetch::kUsual;
      if (!plan.panelA && plan.panelD == 1) inPlace = std::min(inPlace, dataChannelCost(p, unasked, m).totalCycles);
    }
    EXPECT_EQ(depths, far);
    EXPECT_EQ(panels, far);
    EXPECT_EQ(asks, far);
    EXPECT_EQ(best < inPlace, far) << best << " " << inPlace;
  }
}

// Results of a box come into L1 at once: Zen5 waits for 9 pixels of 3 vectors no longer than for 6 of 4.
TEST(DataCost, BoxesWaitForMoreLinesThanMissBuffers) {
  TilingPlan plan;
  plan.gradient = Gradient::kDx;
  plan.baseW = 9;
  plan.baseVectors = 3;
  plan.panelH = 128;
  const auto calls = [&](HostCore core) {
    const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, core);
    return dataChannelCost(pointwise(1024, 256, 14), plan, machine).callCycles;
  };
  EXPECT_LT(2.0 * calls(HostCore::kZen5), calls(HostCore::kZen4));
}

// Each chunk of a line loads and stores all sums: none of a few pixels is left over, and few pixels may be one chunk.
TEST(WeightCandidates, ChunksOfALineAreNearlyEqualAndOneIsTheLine) {
  const Machine machine = hostMachine(avx512Isa(), 2, 32 << 10, 1 << 20, 32 << 20);
  constexpr std::int64_t kPixels = 4 * 7 * 7;
  bool whole = false;
  for (const TilingPlan& plan : weightCandidates(pointwise(512, 2048, 7), machine)) {
    const std::int64_t rest = kPixels % plan.panelH;
    EXPECT_TRUE(rest == 0 || 2 * rest >= plan.panelH) << plan.panelH;
    whole = whole || plan.panelH == kPixels;
  }
  EXPECT_TRUE(whole);
}

// A strided layer of one tap reads one pixel of four: its chunks are as long as an unstrided one's.
TEST(WeightCandidates, PixelsThatStridesPassOverTakeNoRoom) {
  const Machine machine = hostMachine(avx512Isa(), 2, 32 << 10, 1 << 20, 32 << 20);
  Problem p = pointwise(1024, 2048, 7);
  p.in = Dhw{1, 14, 14};
  p.stride = Dhw{1, 2, 2};
  std::int64_t images = 0;
  for (const TilingPlan& plan : weightCandidates(p, machine)) images = std::max(images, plan.baseBatch);
  EXPECT_EQ(images, p.batch);
}

// A chunk of all pixels completes a block's sums in one visit: it costs less than two chunks.
TEST(WeightCandidates, AllPixelsMayBeOneChunkOfPrivateSums) {
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  Problem p = layer(Layout::kNdhwc);
  p.cin = p.cout = 256;
  p.in = p.out = Dhw{1, 14, 14};
  double once = std::numeric_limits<double>::infinity(), twice = once;
  for (TilingPlan plan : weightCandidates(p, machine)) {
    if (!plan.panelC || plan.baseBatch != p.batch || plan.panelH != 14 || plan.lanes != LaneRole::kChannels) continue;
    once = std::min(once, weightCost(p, plan, machine).totalCycles);
    plan.baseBatch = 2;
    twice = std::min(twice, weightCost(p, plan, machine).totalCycles);
  }
  EXPECT_LT(once, twice);  // and there is one
}

// The first block of rows copies its lanes for the others: worth it where there are many of them, and only with one tap.
TEST(WeightCandidates, LanesMayBeCopiedAtFirstTouch) {
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  const auto touched = [&](const Problem& p) {
    const std::vector<TilingPlan> plans = weightCandidates(p, machine);
    return std::count_if(plans.begin(), plans.end(), [](const TilingPlan& plan) { return plan.firstTouch; });
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
    for (const TilingPlan& plan : weightCandidates(p, hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, core))) {
      const bool swapped = plan.lanes == LaneRole::kSwapped;
      one = one || (swapped ? plan.panelA : plan.panelB);
      other = other || (swapped ? plan.panelB : plan.panelA);
    }
    EXPECT_EQ(one, core == HostCore::kZen5);
    EXPECT_FALSE(other);
  }
}

// Blocks of 16 channels are vectors: a layer of one tap neither copies nor converts them. Blocks of 8 are half vectors.
TEST(Candidates, BlocksOfWholeVectorsNeedNoPanels) {
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  const auto planOf = [&](Gradient gradient, DType dtype, std::int64_t c0) {
    Problem p = pointwise(256, 64, 28);
    p.dtype = dtype;
    for (const TensorId t : {TensorId::kX, TensorId::kDy, TensorId::kDx})
      p.formats[static_cast<std::size_t>(t)] = TensorFormat{dtype, Layout::kNdc1hwc0, {}, c0};
    TilingPlan plan = choosePlan(p, gradient, machine, false)->plan;
    EXPECT_FALSE(isStaged(plan));
    return plan;
  };
  const TilingPlan dx = planOf(Gradient::kDx, DType::kF32, 16), dw = planOf(Gradient::kDw, DType::kF32, 16);
  EXPECT_FALSE(dx.panelA || dx.panelC);
  EXPECT_FALSE(dw.panelA || dw.panelB);
  EXPECT_EQ(16 % dw.baseRows, 0);
  const TilingPlan halves = planOf(Gradient::kDx, DType::kF32, 8);
  EXPECT_FALSE(halves.panelA);
  EXPECT_TRUE(halves.panelC);
  const TilingPlan f16 = planOf(Gradient::kDx, DType::kF16, 16);  // what is broadcast is f32
  EXPECT_TRUE(f16.panelA);
  EXPECT_FALSE(f16.panelC);
}

// 20 channels fill 20 of 32 lanes, three taps of them 60 of 64.
TEST(WeightCandidates, TapsAreJoinedWhereChannelsLeaveLanesIdle) {
  const auto lanesOf = [](std::int64_t in, std::int64_t out) {
    Problem p = layer(Layout::kNdhwc);
    p.cin = in;
    p.cout = out;
    return choosePlan(p, Gradient::kDw, hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20), false)->plan.lanes;
  };
  EXPECT_EQ(lanesOf(20, 20), LaneRole::kTaps);
  EXPECT_EQ(lanesOf(36, 18), LaneRole::kTaps);
  EXPECT_NE(lanesOf(64, 64), LaneRole::kTaps);
  EXPECT_NE(lanesOf(20, 64), LaneRole::kTaps);
}

TEST(HostMachine, TakesWhatWasDetectedElseZen4) {
  const Machine known = hostMachine(avx2Isa(), 3, 48 << 10, 2 << 20, 8 << 20);
  EXPECT_EQ(known.cores, 3);
  EXPECT_EQ(known.buffers.l0aBytes, 48 << 10);
  EXPECT_EQ(known.buffers.l1Bytes, 2 << 20);
  EXPECT_EQ(known.buffers.l2Bytes, 8 << 20);
  EXPECT_EQ(known.buffers.l0cBytes, 16 * 32);
  const Machine unknown = hostMachine(avx512Isa(), 1, 0, 0, 0);
  EXPECT_EQ(unknown.buffers.l0bBytes, 32 << 10);
  EXPECT_EQ(unknown.buffers.l1Bytes, 1 << 20);
  EXPECT_EQ(unknown.buffers.l2Bytes, 32 << 20);
  EXPECT_EQ(unknown.buffers.l0cBytes, 32 * 64);
  EXPECT_EQ(unknown.core, HostCore::kZen4);
  EXPECT_EQ(unknown.rates.fmaPerCycle, 1.0);
}

// A core that multiplies as often as it loads cannot use a tile that loads as often as it multiplies.
TEST(HostMachine, ZenFiveTilesLoadLessThanTheyMultiply) {
  Problem p = layer(Layout::kNdhwc);
  p.rank = 3;
  p.cout = 128;
  p.in = Dhw{16, 28, 28};
  p.out = Dhw{8, 14, 14};
  p.kernel = Dhw{3, 3, 3};
  p.stride = Dhw{2, 2, 2};
  p.padBefore = p.padAfter = Dhw{1, 1, 1};
  const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, HostCore::kZen5);
  const auto choice = choosePlan(p, Gradient::kDw, machine, false);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  const TilingPlan& plan = choice->plan;
  const bool swapped = plan.lanes == LaneRole::kSwapped;
  const std::int64_t lanes = plan.baseVectors * (swapped ? 1 : plan.baseTapsW),
                     scalars = plan.baseRows * (swapped ? plan.baseTapsW : 1);
  EXPECT_LE(3 * (lanes + scalars), 2 * plan.baseRows * plan.baseTapsW * plan.baseVectors);
}

}  // namespace
}  // namespace cubejit
