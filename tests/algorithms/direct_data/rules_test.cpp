// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of the direct data gradient can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(DirectDataRules, StreamingStoresNeedALargeResult) {
  DirectDataPlan streams;
  streams.streamingStore = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), streams, kAvx512),
              Contains(HasSubstr("streaming_store must be false")));
}

TEST(DirectDataRules, RegistersAreCounted) {
  const Problem last = convolution(Layout::kNdhwc);
  DirectDataPlan channels;
  channels.registerW = 6;
  channels.registerVectors = 4;  // 24 + 2
  EXPECT_THAT(checkPlan(last, channels, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(last, channels, kAvx2),
              Contains(AllOf(HasSubstr("vector registers"), HasSubstr("needs 26"), HasSubstr("shrink"))));
  channels.registerW = 7;  // 28 + 2
  EXPECT_THAT(checkPlan(last, channels, kAvx512), IsEmpty());
  channels.registerW = 8;
  EXPECT_THAT(checkPlan(last, channels, kAvx512), Contains(AllOf(HasSubstr("needs 34"), HasSubstr("there are 32"))));
}

TEST(DirectDataRules, TapsThatShareABroadcastAreCounted) {
  const Problem last = convolution(Layout::kNdhwc);
  DirectDataPlan data;
  data.registerW = 8;
  data.broadcastTaps = 3;
  EXPECT_THAT(checkPlan(last, data, kAvx512), IsEmpty());
  data.registerVectors =
      3;  // 24 + 2: of the 9 vectors of weights, those without a register are read where they are used
  EXPECT_THAT(checkPlan(last, data, kAvx512), IsEmpty());
  data.registerVectors = 4;
  EXPECT_THAT(checkPlan(last, data, kAvx512), Contains(HasSubstr("needs 34")));
  data.registerVectors = 1;
  data.broadcastTaps = 4;
  EXPECT_THAT(checkPlan(last, data, kAvx512), Contains(HasSubstr("broadcast_taps = 4 is more than the 3")));
  DirectDataPlan reduced;
  reduced.vectorize = DataVectors::kInputChannels;
  reduced.broadcastTaps = 2;
  EXPECT_THAT(checkPlan(last, reduced, kAvx512), Contains(HasSubstr("no broadcasts")));
}

TEST(DirectDataRules, WeightsInPlaceNeedAPointwiseKernel) {
  DirectDataPlan channels;
  channels.packB = PackWeights::kNone;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), channels, kAvx512),
              Contains(HasSubstr("pack_b = none needs a 1x1 kernel")));
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 1), channels, kAvx512), IsEmpty());
}

TEST(DirectDataRules, PanelsHoldWholeRegisterBlocks) {
  DirectDataPlan channels;
  channels.registerH = channels.registerD = 2;
  channels.cache.d = channels.cache.h = 3;
  EXPECT_THAT(
      checkPlan(convolution(Layout::kNdhwc), channels, kAvx512),
      AllOf(Contains(HasSubstr("cache_h must be a multiple")), Contains(HasSubstr("cache_d must be a multiple"))));
  channels.cache.d = channels.cache.h = 4;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), channels, kAvx512), IsEmpty());
}

TEST(DirectDataRules, PlainTensorsNeedPanels) {
  const Problem plain = convolution(Layout::kNcdhw);
  DirectDataPlan channels;
  EXPECT_THAT(checkPlan(plain, channels, kAvx512),
              AllOf(Contains(HasSubstr("pack_a must be true")), Contains(HasSubstr("buffer_c must be true"))));
  channels.packA = channels.bufferC = true;
  EXPECT_THAT(checkPlan(plain, channels, kAvx512), IsEmpty());
  channels.registerN = 2;
  EXPECT_THAT(checkPlan(plain, channels, kAvx512), Contains(HasSubstr("register_n must be 1")));
  channels.bufferC = false;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), channels, kAvx512), Contains(HasSubstr("register_n must be 1")));
}

TEST(DirectDataRules, RegisterBlocksStayWithinADisplacement) {
  Problem p = convolution(Layout::kNdhwc);
  p.in = p.out = Dhw{1, 8, 1 << 24};  // a row is 2 GiB
  DirectDataPlan channels;
  EXPECT_THAT(checkPlan(p, channels, kAvx512), IsEmpty());
  channels.registerH = channels.cache.h = 2;
  EXPECT_THAT(checkPlan(p, channels, kAvx512),
              AllOf(Contains(AllOf(HasSubstr("block of the result spans"), HasSubstr("smaller"))),
                    Contains(HasSubstr("block of the operand spans"))));
}

}  // namespace
}  // namespace cubejit
