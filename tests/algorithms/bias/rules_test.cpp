// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every rule of a bias gradient can be broken, and is then named with its values and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/bias/bias.h"
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

TEST(BiasRules, RegistersAreCounted) {
  BiasPlan bias;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), bias, kAvx512), IsEmpty());
  bias.registerVectors = 31;
  EXPECT_THAT(checkPlan(convolution(Layout::kNdhwc), bias, kAvx512), Contains(HasSubstr("needs 32")));
}

}  // namespace
}  // namespace cubejit
