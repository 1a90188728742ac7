// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of a plan can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/host.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Machine kAvx512 = hostOf(IsaLevel::kAvx512);
const Machine kAvx2 = hostOf(IsaLevel::kAvx2);

Problem convolution(Layout layout, std::int64_t kernel = 3) {
  Problem p;
  p.rank = 2;
  p.batch = 2;
  p.cin = p.cout = 32;
  p.in = p.out = Dhw{1, 8, 8};
  p.kernel = Dhw{1, kernel, kernel};
  p.padBefore = p.padAfter = Dhw{0, kernel / 2, kernel / 2};
  p.layout = layout;
  return p;
}

TilingPlan planOf(Gradient gradient, LaneRole lanes) {
  TilingPlan plan;
  plan.gradient = gradient;
  plan.lanes = lanes;
  return plan;
}

TEST(CheckPlan, AcceptsSmallPlans) {
  const Problem last = convolution(Layout::kNdhwc);
  for (const Machine& machine : {kAvx2, kAvx512}) {
    EXPECT_THAT(checkPlan(last, planOf(Gradient::kDx, LaneRole::kChannels), machine), IsEmpty());
    EXPECT_THAT(checkPlan(last, planOf(Gradient::kDw, LaneRole::kChannels), machine), IsEmpty());
    EXPECT_THAT(checkPlan(last, planOf(Gradient::kDw, LaneRole::kSwapped), machine), IsEmpty());
    EXPECT_THAT(checkPlan(last, planOf(Gradient::kDb, LaneRole::kChannels), machine), IsEmpty());
  }
}

// Rules that plans changed at random showed to be missing: without them these compute wrong results or crash.
TEST(CheckPlan, WhatMutatedPlansBroke) {
  TilingPlan streams = planOf(Gradient::kDx, LaneRole::kChannels);
  streams.streamingStore = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), streams, kAvx512),
              Contains(HasSubstr("streaming_store must be false")));
  Problem depthwise = convolution(Layout::kNcdhw);
  depthwise.groups = 32;
  for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
    EXPECT_THAT(checkPlan(depthwise, planOf(gradient, LaneRole::kGroupCells), kAvx512),
                Contains(HasSubstr("panel_a must be true")));
  }
  EXPECT_THAT(checkPlan(depthwise, planOf(Gradient::kDw, LaneRole::kGroupCells), kAvx512),
              Contains(HasSubstr("panel_b must be true")));
  EXPECT_THAT(checkPlan(depthwise, planOf(Gradient::kDx, LaneRole::kGroupCells), kAvx512),
              Contains(HasSubstr("panel_c must be true")));
  TilingPlan chunk = planOf(Gradient::kDw, LaneRole::kChannels);
  chunk.panelH = 9;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), chunk, kAvx512),
              Contains(HasSubstr("panel_h = 9 is more than the 8")));
  chunk.panelH = 8;
  chunk.panelD = 2;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), chunk, kAvx512), Contains(HasSubstr("panel_d = 2")));
  chunk.panelD = 1;
  chunk.panelH = 4;
  chunk.baseBatch = 2;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), chunk, kAvx512), Contains(HasSubstr("needs whole images")));
}

TEST(CheckPlan, GroupCellsOfBlockedTensors) {
  Problem p = convolution(Layout::kNdc1hwc0);
  p.groups = 32;
  p.dtype = DType::kF16;
  TilingPlan dw = planOf(Gradient::kDw, LaneRole::kGroupCells), dx = planOf(Gradient::kDx, LaneRole::kGroupCells);
  dw.reorders.result = dx.reorders.w = true;
  EXPECT_THAT(checkPlan(p, dw, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, dx, kAvx512), IsEmpty());
  dw.baseVectors = 2;
  EXPECT_THAT(checkPlan(p, dw, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, dw, kAvx2), ElementsAre(HasSubstr("base_vectors must be 1")));
  dw.panelA = true;
  EXPECT_THAT(checkPlan(p, dw, kAvx512), ElementsAre(HasSubstr("panel_a must be false")));
  p.dtype = DType::kBf16;
  EXPECT_THAT(checkPlan(p, dx, kAvx512), ElementsAre(AllOf(HasSubstr("stage_result"), HasSubstr("no instruction"))));
  p.cin = p.cout = p.groups = 24;  // a block and a half
  p.dtype = DType::kF16;
  EXPECT_THAT(checkPlan(p, dx, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, dx, kAvx2), ElementsAre(HasSubstr("the last block of dx has 8 of 16 channels")));
  p.cout = 48;
  EXPECT_THAT(checkPlan(p, dx, kAvx512), Contains(HasSubstr("stage_result must be true")));
}

TEST(CheckPlan, GroupCellsStayWithinADisplacement) {
  Problem p = convolution(Layout::kNdhwc);
  p.groups = p.cin = p.cout = 4096;
  p.in = p.out = Dhw{1, 64, 40000};
  EXPECT_THAT(checkPlan(p, planOf(Gradient::kDw, LaneRole::kGroupCells), kAvx512), IsEmpty());
  TilingPlan tall = planOf(Gradient::kDw, LaneRole::kGroupCells);
  tall.baseTapsH = 3;
  EXPECT_THAT(checkPlan(p, tall, kAvx512), Contains(HasSubstr("displacement")));
}

TEST(CheckPlan, EveryCountIsPositive) {
  const TilingPlan good = planOf(Gradient::kDx, LaneRole::kChannels);
  std::vector<std::string> fields;
  describePlan(good, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) {
      if (std::string(name).rfind("single_shape", 0) != 0) fields.emplace_back(name);
    }
  });
  ASSERT_GT(fields.size(), 10U);
  for (const std::string& broken : fields) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-3}}) {
      TilingPlan plan = good;
      describePlan(plan, [&](const char* name, auto& field) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) {
          if (name == broken) field = value;
        }
      });
      EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), plan, kAvx512),
                  ElementsAre(broken + " = " + std::to_string(value) + " must be at least 1"));
    }
  }
}

TEST(CheckPlan, RegistersAreCountedForEachKindOfPlan) {
  const Problem last = convolution(Layout::kNdhwc), plain = convolution(Layout::kNcdhw);
  TilingPlan channels = planOf(Gradient::kDx, LaneRole::kChannels);
  channels.baseW = 6;
  channels.baseVectors = 4;  // 24 + 4 + 1
  EXPECT_THAT(checkPlan(last, channels, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(last, channels, kAvx2),
              Contains(AllOf(HasSubstr("vector registers"), HasSubstr("needs 29"), HasSubstr("shrink"))));
  channels.baseW = 7;  // 28 + 4 + 1 > 32
  EXPECT_THAT(checkPlan(last, channels, kAvx512), Contains(AllOf(HasSubstr("needs 33"), HasSubstr("32"))));

  TilingPlan pixels = planOf(Gradient::kDx, LaneRole::kPixels);
  pixels.baseRows = 16;
  pixels.baseVectors = 2;  // 32 + 2 + 1
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("needs 35")));
  pixels.baseRows = 3;
  pixels.baseH = pixels.panelH = 5;  // 30 + 2 + 1
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(AllOf(HasSubstr("base_h"), HasSubstr("needs 33"))));
  pixels.baseRows = 2;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), IsEmpty());
  pixels.panelH = 12;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("panel_h must be a multiple of base_h")));

  TilingPlan weights = planOf(Gradient::kDw, LaneRole::kChannels);
  weights.baseRows = 4;
  weights.baseTapsW = 3;
  weights.baseVectors = 3;  // 36 + 9 + 1
  EXPECT_THAT(checkPlan(last, weights, kAvx512), Contains(HasSubstr("needs 46")));
  weights.lanes = LaneRole::kSwapped;  // 36 + 3 + 1
  EXPECT_THAT(checkPlan(last, weights, kAvx512), Contains(HasSubstr("needs 40")));

  TilingPlan bias = planOf(Gradient::kDb, LaneRole::kChannels);
  bias.baseVectors = 31;
  EXPECT_THAT(checkPlan(last, bias, kAvx512), Contains(HasSubstr("needs 32")));
}

TEST(CheckPlan, FirstTouchIsForOneTapOfDw) {
  TilingPlan weights = planOf(Gradient::kDw, LaneRole::kChannels);
  weights.firstTouch = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), weights, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 3), weights, kAvx512),
              Contains(HasSubstr("first_touch needs one tap")));
  weights.panelB = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), weights, kAvx512), Contains(HasSubstr("no panel_b")));
  TilingPlan data = planOf(Gradient::kDx, LaneRole::kChannels);
  data.firstTouch = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), data, kAvx512),
              Contains(HasSubstr("first_touch must be false")));
}

TEST(CheckPlan, SpaceToDepthIsForKernelsAsWideAsTheirStride) {
  Problem patches = convolution(Layout::kNdhwc, 3);
  patches.stride = patches.kernel;
  patches.padBefore = patches.padAfter = Dhw{0, 0, 0};
  patches.in = Dhw{1, 3 * patches.out.h, 3 * patches.out.w};
  TilingPlan plan = planOf(Gradient::kDx, LaneRole::kChannels);
  plan.reorders.spaceToDepth = true;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), ElementsAre(HasSubstr("needs stage_w")));
  plan.reorders.w = true;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 3), plan, kAvx512),
              ElementsAre(HasSubstr("as wide as its stride")));
  patches.layout = Layout::kNcdhw;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), ElementsAre(HasSubstr("channels-last, or stage_result")));
  plan.gradient = Gradient::kDw;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), Contains(HasSubstr("space_to_depth is for dx")));
}

TEST(CheckPlan, TapsThatShareScalarsAreCounted) {
  const Problem last = convolution(Layout::kNdhwc);
  TilingPlan data = planOf(Gradient::kDx, LaneRole::kChannels);
  data.baseW = 8;
  data.baseTapsW = 3;
  EXPECT_THAT(checkPlan(last, data, kAvx512), IsEmpty());
  data.baseVectors = 3;  // 24 + 9 + 1
  EXPECT_THAT(checkPlan(last, data, kAvx512), Contains(HasSubstr("needs 34")));
  data.baseVectors = 1;
  data.baseTapsW = 4;
  EXPECT_THAT(checkPlan(last, data, kAvx512), Contains(HasSubstr("base_taps_w = 4 is more than the 3")));
  TilingPlan reduced = planOf(Gradient::kDx, LaneRole::kReduced);
  reduced.baseTapsW = 2;
  EXPECT_THAT(checkPlan(last, reduced, kAvx512), Contains(HasSubstr("no scalars to share")));
}

TEST(CheckPlan, JoinedTapsLieSideBySide) {
  Problem p = convolution(Layout::kNdhwc);
  p.cin = 20;  // 3 x 20 lanes
  TilingPlan weights = planOf(Gradient::kDw, LaneRole::kTaps);
  weights.baseVectors = 4;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), IsEmpty());
  weights.baseVectors = 2;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), Contains(HasSubstr("base_vectors = 2 must be 4")));
  weights.baseVectors = 4;
  weights.baseTapsW = 3;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), Contains(HasSubstr("base_taps_w must be 1")));
  weights.baseTapsW = 1;
  Problem apart = p;
  apart.dilation = Dhw{1, 2, 2};
  apart.padBefore = apart.padAfter = Dhw{0, 2, 2};
  EXPECT_THAT(checkPlan(apart, weights, kAvx512), Contains(HasSubstr("dilation 2")));
  Problem groups = p;
  groups.cin = groups.cout = 40;
  groups.groups = 2;
  EXPECT_THAT(checkPlan(groups, weights, kAvx512), Contains(HasSubstr("panel_b must be true")));
  weights.panelB = true;
  EXPECT_THAT(checkPlan(groups, weights, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(p, planOf(Gradient::kDx, LaneRole::kTaps), kAvx512),
              Contains(HasSubstr("lanes = taps is for dw only, not for dx")));
}

TEST(CheckPlan, PlainTensorsNeedPanels) {
  const Problem plain = convolution(Layout::kNcdhw);
  TilingPlan channels = planOf(Gradient::kDx, LaneRole::kChannels);
  EXPECT_THAT(checkPlan(plain, channels, kAvx512),
              AllOf(Contains(HasSubstr("panel_a must be true")), Contains(HasSubstr("panel_c must be true"))));
  channels.panelA = channels.panelC = true;
  EXPECT_THAT(checkPlan(plain, channels, kAvx512), IsEmpty());
  channels.baseBatch = 2;
  EXPECT_THAT(checkPlan(plain, channels, kAvx512), Contains(HasSubstr("base_batch must be 1")));

  TilingPlan weights = planOf(Gradient::kDw, LaneRole::kChannels);
  EXPECT_THAT(checkPlan(plain, weights, kAvx512), Contains(HasSubstr("panel_b must be true")));
  weights.panelB = true;
  EXPECT_THAT(checkPlan(plain, weights, kAvx512), IsEmpty());
}

TEST(CheckPlan, PixelLanesNeedPanelsWhereTensorsAreChannelsLast) {
  TilingPlan pixels = planOf(Gradient::kDx, LaneRole::kPixels);
  EXPECT_THAT(checkPlan(convolution(Layout::kNcdhw), pixels, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), pixels, kAvx512),
              AllOf(Contains(HasSubstr("panel_b must be true")), Contains(HasSubstr("panel_c must be true"))));
  pixels.panelB = pixels.panelC = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), pixels, kAvx512), IsEmpty());
}

TEST(CheckPlan, PixelLanesOfDwReadPlainTensorsWhereTheyLie) {
  TilingPlan pixels = planOf(Gradient::kDw, LaneRole::kPixels);
  Problem plain = convolution(Layout::kNcdhw);
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), pixels, kAvx512), Contains(HasSubstr("needs plain x and dy")));
  pixels.panelB = true;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("has no panel_a")));
  pixels.panelB = false;
  pixels.baseTapsH = 9;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("more than the taps there are")));
  pixels.baseTapsH = 3;
  pixels.baseTapsW = 3;
  pixels.baseH = 28;  // 9 + 28 + 2
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(AllOf(HasSubstr("base_taps_h"), HasSubstr("needs 39"))));
  pixels.baseH = 4;
  pixels.baseBatch = plain.batch + 1;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("must divide")));
  pixels.baseBatch = 1;
  plain.stride.w = 2;
  plain.out.w = (plain.in.w + plain.padBefore.w + plain.padAfter.w - plain.kernel.w) / 2 + 1;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("stride 1 along W")));
}

TEST(CheckPlan, PixelLanesLimitStrides) {
  TilingPlan pixels = planOf(Gradient::kDx, LaneRole::kPixels);
  pixels.panelB = pixels.panelC = true;
  Problem p = convolution(Layout::kNdhwc, 1);
  p.in = Dhw{1, 1, 201};
  p.out = Dhw{1, 1, 3};
  p.stride = Dhw{1, 1, 100};
  EXPECT_THAT(checkPlan(p, pixels, kAvx512), Contains(HasSubstr("stride along W of at most 64")));
  std::swap(p.in, p.out);
  p.transposed = true;
  EXPECT_THAT(checkPlan(p, pixels, kAvx512), Contains(HasSubstr("need stride 1 along W")));
}

TEST(CheckPlan, WeightsInPlaceNeedAPointwiseKernel) {
  TilingPlan channels = planOf(Gradient::kDx, LaneRole::kChannels);
  channels.packWeights = false;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), channels, kAvx512),
              Contains(HasSubstr("pack_weights = false needs a 1x1 kernel")));
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), channels, kAvx512), IsEmpty());
}

TEST(CheckPlan, PanelsHoldWholeBaseBlocks) {
  TilingPlan channels = planOf(Gradient::kDx, LaneRole::kChannels);
  channels.baseH = channels.baseD = 2;
  channels.panelD = channels.panelH = 3;
  EXPECT_THAT(
      checkPlan(convolution(Layout::kNdhwc), channels, kAvx512),
      AllOf(Contains(HasSubstr("panel_h must be a multiple")), Contains(HasSubstr("panel_d must be a multiple"))));
  channels.panelD = channels.panelH = 4;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), channels, kAvx512), IsEmpty());
}

TEST(CheckPlan, BaseBlocksStayWithinADisplacement) {
  Problem p = convolution(Layout::kNdhwc);
  p.in = p.out = Dhw{1, 8, 1 << 24};  // a row is 2 GiB
  TilingPlan channels = planOf(Gradient::kDx, LaneRole::kChannels);
  EXPECT_THAT(checkPlan(p, channels, kAvx512), IsEmpty());
  channels.baseH = channels.panelH = 2;
  EXPECT_THAT(checkPlan(p, channels, kAvx512),
              AllOf(Contains(AllOf(HasSubstr("block of the result spans"), HasSubstr("smaller"))),
                    Contains(HasSubstr("block of the operand spans"))));

  p.layout = Layout::kNcdhw;  // channels 512 MiB apart
  TilingPlan pixels = planOf(Gradient::kDx, LaneRole::kPixels);
  pixels.baseRows = 4;
  EXPECT_THAT(checkPlan(p, pixels, kAvx512), AllOf(Contains(HasSubstr("rows of a base block span")),
                                                   Contains(HasSubstr("steps of the reduction span"))));
  TilingPlan weights = planOf(Gradient::kDw, LaneRole::kChannels);
  weights.panelB = true;
  weights.baseRows = 4;
  EXPECT_THAT(checkPlan(p, weights, kAvx512), Contains(HasSubstr("rows of a base block span")));
}

}  // namespace
}  // namespace cubejit
