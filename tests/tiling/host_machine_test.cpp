// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the host in an NPU's terms.
#include <gtest/gtest.h>

#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

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
  const auto choice = choosePlan(p, Pass::kDw, machine, false);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  const TilingPlan& plan = choice->plan;
  const bool swapped = planFamily(plan) == "direct:transposed";
  const std::int64_t lanes = fieldOf(plan, "register_vectors") * (swapped ? 1 : fieldOf(plan, "register_taps")),
                     scalars = fieldOf(plan, "register_rows") * (swapped ? fieldOf(plan, "register_taps") : 1);
  EXPECT_LE(3 * (lanes + scalars),
            2 * fieldOf(plan, "register_rows") * fieldOf(plan, "register_taps") * fieldOf(plan, "register_vectors"));
}

// A dot product is two multiply-adds: where it takes four times as long as an FMA, bf16 is converted, but for layers that wait for weights
// more than they multiply.
TEST(HostMachine, GoldenCoveConvertsPairsThatFmasMultiplySooner) {
  Problem dense = layer(Layout::kNdhwc), waits = dense;
  dense.dtype = waits.dtype = DType::kBf16;
  waits.batch = 1;
  waits.in = waits.out = waits.kernel = Dhw{1, 1, 1};
  waits.padBefore = waits.padAfter = Dhw{0, 0, 0};
  waits.cin = waits.cout = 2048;
  const auto dots = [](const Problem& p, Pass pass, HostCore core) {
    const auto choice =
        choosePlan(p, pass, hostMachine(isaOf(IsaLevel::kAvx512Bf16), 2, 48 << 10, 2 << 20, 32 << 20, core), false);
    EXPECT_TRUE(choice.ok()) << choice.error().message;
    return choice.ok() ? fieldOf(choice->plan, "dot_products") : -1;
  };
  for (const Pass pass : {Pass::kY, Pass::kDx, Pass::kDw}) {
    EXPECT_EQ(dots(dense, pass, HostCore::kZen5), 1) << toString(pass);
    EXPECT_EQ(dots(dense, pass, HostCore::kGoldenCove), 0) << toString(pass);
  }
  EXPECT_EQ(dots(waits, Pass::kDx, HostCore::kGoldenCove), 1);
}

Problem plain(std::int64_t channels, std::int64_t extent, std::int64_t taps) {
  return inLayout(Layout::kNcdhw, squareProblem(4, channels, channels, extent, taps));
}

Machine zen3() { return hostMachine(avx2Isa(), 1, 32 << 10, 512 << 10, 32 << 20, HostCore::kZen3); }

// Broadcasts take as long as of whole vectors: tiles of AVX2 that need one for each multiply-add cannot be busy.
TEST(HostMachine, HalfVectorsNeedTilesThatShareBroadcasts) {
  for (const std::int64_t channels : {64, 256}) {
    const auto choice = choosePlan(plain(channels, 28, 3), Pass::kDw, zen3(), false);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    EXPECT_GE(fieldOf(choice->plan, "register_vectors"), 2) << channels;
  }
}

// Measured on Zen 3: panels are 1.2 to 1.7 times as fast as planes that crowd L1 or do not fit, and 4 times where packing is most of it.
TEST(HostMachine, ZenThreeDoesNotWalkOverManyPlanes) {
  for (const Problem& p : {plain(64, 56, 3), plain(256, 56, 1), plain(32, 64, 3), plain(16, 8, 3)}) {
    for (const Pass pass : {Pass::kY, Pass::kDx}) {
      const auto choice = choosePlan(p, pass, zen3(), false);
      ASSERT_TRUE(choice.ok()) << choice.error().message;
      EXPECT_EQ(planFamily(choice->plan).substr(0, 6), "direct") << p.cin << " channels of " << p.in.w;
    }
  }
}

}  // namespace
}  // namespace cubejit
