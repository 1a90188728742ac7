// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of the spatial algorithm can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/spatial/spatial.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SpatialRules, RegistersAreCounted) {
  const Problem plain = convolution(Layout::kNcdhw);
  SpatialDataPlan pixels;
  pixels.registerChannels = 16;
  pixels.registerVectors = 2;  // 32 + 2
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("needs 34")));
  pixels.registerChannels = 3;
  pixels.registerH = pixels.cache.h = 6;  // 36 + 2
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(AllOf(HasSubstr("register_h"), HasSubstr("needs 38"))));
  pixels.registerH = pixels.cache.h = 5;  // 30 + 2
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), IsEmpty());
  pixels.cache.h = 12;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("cache_h must be a multiple of register_h")));
}

TEST(SpatialRules, DataNeedPanelsWhereTensorsAreChannelsLast) {
  SpatialDataPlan pixels;
  EXPECT_THAT(checkPlan(convolution(Layout::kNcdhw), pixels, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), pixels, kAvx512),
              AllOf(Contains(HasSubstr("pack_a must be true")), Contains(HasSubstr("buffer_c must be true"))));
  pixels.packA = pixels.bufferC = true;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), pixels, kAvx512), IsEmpty());
}

TEST(SpatialRules, DataLimitStrides) {
  SpatialDataPlan pixels;
  pixels.packA = pixels.bufferC = true;
  Problem p = convolution(Layout::kNdhwc, 1);
  p.in = Dhw{1, 1, 201};
  p.out = Dhw{1, 1, 3};
  p.stride = Dhw{1, 1, 100};
  EXPECT_THAT(checkPlan(p, pixels, kAvx512), Contains(HasSubstr("stride along W of at most 64")));
  std::swap(p.in, p.out);
  p.transposed = true;
  EXPECT_THAT(checkPlan(p, pixels, kAvx512), Contains(HasSubstr("needs stride 1 along W")));
}

TEST(SpatialRules, WeightsReadPlainTensorsWhereTheyLie) {
  SpatialWeightsPlan pixels;
  Problem plain = convolution(Layout::kNcdhw);
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), pixels, kAvx512), Contains(HasSubstr("needs plain x and dy")));
  pixels.registerTapsH = 9;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("more than the taps there are")));
  pixels.registerTapsH = 3;
  pixels.registerTapsW = 3;
  pixels.registerH = plain.out.h + 1;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("must not be more than the")));
  pixels.registerH = 4;
  pixels.reduction = {plain.batch + 1, 1, 1};
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("reduction_n = ")));
  pixels.reduction = {1, 1, 1};
  plain.stride.w = 2;
  plain.out.w = (plain.in.w + plain.padBefore.w + plain.padAfter.w - plain.kernel.w) / 2 + 1;
  EXPECT_THAT(checkPlan(plain, pixels, kAvx512), Contains(HasSubstr("stride 1 along W")));
}

TEST(SpatialRules, RegisterBlocksStayWithinADisplacement) {
  Problem p = convolution(Layout::kNcdhw);
  p.in = p.out = Dhw{1, 8, 1 << 24};  // channels 512 MiB apart
  SpatialDataPlan pixels;
  pixels.registerChannels = 4;
  EXPECT_THAT(checkPlan(p, pixels, kAvx512), AllOf(Contains(HasSubstr("rows of a register block span")),
                                                   Contains(HasSubstr("steps of the reduction span"))));
}

}  // namespace
}  // namespace cubejit
