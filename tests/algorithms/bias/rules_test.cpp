// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of a bias gradient can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/bias/bias.h"
#include "tests/support/small_layer.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(BiasRules, RegistersAreCounted) {
  BiasPlan bias;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), bias, kAvx512), IsEmpty());
  bias.registerVectors = 30;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), bias, kAvx512), IsEmpty());
  bias.registerVectors = 31;  // and two for what is added
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), bias, kAvx512),
              Contains(AllOf(HasSubstr("needs 33"), HasSubstr("there are 32"))));
}

}  // namespace
}  // namespace cubejit
