// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of a plan can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "algorithms/kit/reorder.h"
#include "tests/support/plan_fields.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckPlan, EveryCountOfEveryAlgorithmHasARange) {
  for (const Algorithm* algorithm : algorithms()) {
    const TilingPlan good = algorithm->plan();
    std::vector<std::string> names;
    describePlan(good, [&](const char* name, const auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) names.emplace_back(name);
    });
    ASSERT_FALSE(names.empty()) << algorithm->name;
    for (const std::string& broken : names) {
      for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-3}}) {
        TilingPlan plan = good;
        plan.reorders = reordersToChannelsLast(convolution(Layout::kNdhwc), plan.pass);
        ASSERT_TRUE(setField(plan, broken, value));
        EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), plan, kAvx512),
                    ElementsAre(broken + " = " + std::to_string(value) + " must be at least 1"));
      }
      // What products would leave 64 bits with.
      for (const std::int64_t value :
           {std::int64_t{1} << 31, std::int64_t{1} << 61, std::numeric_limits<std::int64_t>::max()}) {
        TilingPlan plan = good;
        plan.reorders = reordersToChannelsLast(convolution(Layout::kNdhwc), plan.pass);
        ASSERT_TRUE(setField(plan, broken, value));
        EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), plan, kAvx512),
                    ElementsAre(HasSubstr(broken + " = " + std::to_string(value) + " must be at most")));
      }
    }
  }
}

TEST(CheckPlan, PlansOfAnotherMachineOrGradientAreRefused) {
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), TilingPlan(Pass::kDx, CubePlan{}), kAvx512),
              ElementsAre(HasSubstr("the algorithm cube, which host has not")));
  TilingPlan plan = defaultPlan("direct", Pass::kDx);
  plan.pass = Pass::kDw;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), plan, kAvx512), ElementsAre(HasSubstr("its algorithm's is dx")));
}

TEST(CheckPlan, WhatAnAlgorithmDoesNotTakeMustBeReordered) {
  Problem cut = convolution(Layout::kNdhwc);
  TensorFormat& w = cut.formats[static_cast<std::size_t>(TensorId::kW)].emplace();
  w.layout = Layout::kFractalZ3d;
  EXPECT_THAT(checkPlan(cut, defaultPlan("direct", Pass::kDx), kAvx512),
              ElementsAre(HasSubstr("reorder_w must be true: the direct algorithm cannot take w as f32 fractal_z_3d")));
  cut = convolution(Layout::kNdhwc);
  cut.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF32, Layout::kNcdhw, {1, 1, 1, 1, 1}};
  EXPECT_THAT(checkPlan(cut, defaultPlan("direct", Pass::kDx), kAvx512),
              ElementsAre(HasSubstr("reorder_w must be true: the direct algorithm cannot take w as f32 ncdhw with "
                                    "strides")));
}

TEST(CheckPlan, SpaceToDepthIsForKernelsAsWideAsTheirStride) {
  Problem patches = convolution(Layout::kNdhwc, 3);
  patches.stride = patches.kernel;
  patches.padBefore = patches.padAfter = Dhw{0, 0, 0};
  patches.in = Dhw{1, 3 * patches.out.h, 3 * patches.out.w};
  TilingPlan plan = defaultPlan("direct", Pass::kDx);
  plan.reorders.spaceToDepth = true;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), ElementsAre(HasSubstr("needs reorder_w")));
  plan.reorders.w = true;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), IsEmpty());
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc, 3), plan, kAvx512),
              ElementsAre(HasSubstr("as wide as its stride")));
  patches.layout = Layout::kNcdhw;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), ElementsAre(HasSubstr("channels-last, or reorder_result")));
  plan = defaultPlan("direct", Pass::kDw);
  plan.reorders.spaceToDepth = true;
  EXPECT_THAT(checkPlan(patches, plan, kAvx512), Contains(HasSubstr("space_to_depth is for dx")));
}

}  // namespace
}  // namespace cubejit
