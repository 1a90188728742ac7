// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks candidates and costs of the direct data gradient.
#include "algorithms/direct_data/direct_data.h"

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

// Lanes of input channels: a vector of partial sums waits for each result of a cache block.
TEST(DataReduced, SumsThatDoNotFitL2AreReadFromAfar) {
  const Machine machine = hostMachine(avx512Isa(), 2, 32768, 1 << 20, 32 << 20);
  Problem p = layer(Layout::kNdhwc);
  p.rank = 3;
  p.cin = 3;
  p.in = p.out = Dhw{16, 64, 64};
  DirectDataPlan plan;
  plan.vectorize = DataVectors::kInputChannels;
  plan.bufferC = true;
  plan.registerW = 8;
  plan.cache.h = 8;
  const double near = inputChannelCost(p, plan, machine).memoryCycles;
  plan.cache.d = 16;
  EXPECT_GT(inputChannelCost(p, plan, machine).memoryCycles, 1.2 * near);
}

// The same lanes: lines of the next planes are waited for where dY comes from memory, unless they are copied.
TEST(DataReduced, LinesOfFarVolumesAreWaitedFor) {
  Problem p = inLayout(Layout::kNdhwc, problemOf(1, 1, 32, {16, 64, 64}, {3, 3, 3}, {1, 1, 1}));
  const auto waits = [&](bool packA) {
    DirectDataPlan plan;
    plan.vectorize = DataVectors::kInputChannels;
    plan.bufferC = true;
    plan.packA = packA;
    plan.registerW = plan.cache.h = plan.cache.d = 8;
    const auto cycles = [&](std::int64_t l3) {
      return inputChannelCost(p, plan, hostMachine(avx512Isa(), 2, 32768, 1 << 20, l3)).computeCycles;
    };
    return cycles(8 << 20) - cycles(64 << 20);
  };
  const double lines = 32.0 * 4 * 16 * 64 * 64 / 64;
  EXPECT_GT(waits(false), 9 * lines);
  EXPECT_EQ(waits(true), 0);
  p.kernel.d = 1, p.padBefore.d = p.padAfter.d = 0;
  EXPECT_EQ(waits(false), 0) << "rows alone";
}

// Cache blocks of a power of two of boxes leave some cores with one more than others: some are equal shares.
TEST(DataCandidates, SomeSlabsAreEqualSharesOfTheCores) {
  constexpr std::int64_t kPixels = 4 * 14 * 14, kCores = 3;
  bool equal = false;
  for (const DirectDataPlan& plan :
       directDataCandidates(pointwise(1024, 256, 14), hostMachine(avx512Isa(), kCores, 32 << 10, 1 << 20, 32 << 20))) {
    const std::int64_t first = (kCores - 1) * plan.cache.h, last = kPixels - first;
    equal = equal || (0 < last && last <= plan.cache.h && 10 * last >= 9 * plan.cache.h);
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
    bool depths = false, panels = false, prefetches = false;
    double inPlace = std::numeric_limits<double>::infinity(), best = inPlace;
    for (const DirectDataPlan& plan : directDataCandidates(p, m)) {
      if (plan.packsPerTask() || !checkPlan(p, plan, m).empty()) continue;
      depths |= plan.cache.d > 1;
      panels |= plan.packA;
      prefetches |= plan.prefetch == Prefetch::kOperands;
      best = std::min(best, directDataCost(p, plan, m).totalCycles);
      DirectDataPlan unasked = plan;
      unasked.prefetch = Prefetch::kUsual;
      if (!plan.packA && plan.cache.d == 1) inPlace = std::min(inPlace, directDataCost(p, unasked, m).totalCycles);
    }
    EXPECT_EQ(depths, far);
    EXPECT_EQ(panels, far);
    EXPECT_EQ(prefetches, far);
    EXPECT_EQ(best < inPlace, far) << best << " " << inPlace;
  }
}

// Results of a box come into L1 at once: Zen5 waits for 9 pixels of 3 vectors no longer than for 6 of 4.
TEST(DataCost, BoxesWaitForMoreLinesThanMissBuffers) {
  DirectDataPlan plan;
  plan.registerW = 9;
  plan.registerVectors = 3;
  plan.cache.h = 128;
  const auto calls = [&](HostCore core) {
    const Machine machine = hostMachine(avx512Isa(), 2, 48 << 10, 1 << 20, 32 << 20, core);
    return directDataCost(pointwise(1024, 256, 14), plan, machine).callCycles;
  };
  EXPECT_LT(2.0 * calls(HostCore::kZen5), calls(HostCore::kZen4));
}

}  // namespace
}  // namespace cubejit
