// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that vectors of pixels take 16-bit activations as they are, wherever the ISA can store their results.
#include "algorithms/spatial/spatial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem firstLayer(DType type, Layout layout) {
  return ofType(type, inLayout(layout, problemOf(2, 3, 32, {1, 30, 40}, {1, 3, 3}, {0, 0, 0})));
}

TEST(PixelCandidates, SixteenBitActivationsAreNotConvertedBeforehand) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16}) {
    for (const DType type : {DType::kF16, DType::kBf16}) {
      for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
        const Problem p = firstLayer(type, layout);
        const Machine machine = hostOf(level);
        const bool rounds = type == DType::kBf16 && level != IsaLevel::kAvx512Bf16;  // three registers a result
        int direct = 0;
        for (const SpatialDataPlan& plan : spatialDataCandidates(p, machine)) {
          Reorders reorders;
          reorders.w = true;
          EXPECT_THAT(checkPlan(p, {plan, reorders}, machine), testing::IsEmpty());
          direct += plan.bufferC ? 0 : 1;
        }
        EXPECT_EQ(direct > 0, layout == Layout::kNcdhw && !rounds);
      }
    }
  }
}

TEST(PixelCandidates, WhatTheyCannotTakeIsNamed) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  SpatialDataPlan plan = spatialDataCandidates(firstLayer(DType::kBf16, Layout::kNcdhw), machine).front();
  Reorders reorders;
  reorders.w = true;
  plan.bufferC = false;
  EXPECT_THAT(checkPlan(firstLayer(DType::kBf16, Layout::kNcdhw), {plan, reorders}, machine),
              testing::Contains(testing::HasSubstr("bf16 that no instruction rounds")));
  plan.bufferC = true;
  EXPECT_THAT(checkPlan(firstLayer(DType::kHf32, Layout::kNcdhw), {plan, reorders}, machine),
              testing::Contains(testing::HasSubstr("reorder_dy must be true")));
}

}  // namespace
}  // namespace cubejit
