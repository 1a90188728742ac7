// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that gradients of layers are proven step by step, as many steps as are asked for, before --fast computes them.
#include "runtime/chip/prove_elision.h"

#include <gtest/gtest.h>

#include "cubejit/emulation.h"
#include "cubejit/machines.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

Problem layer() { return ofType(DType::kBf16, planeProblem(2, 40, 24, {1, 14, 15}, {1, 3, 3}, {0, 1, 1}, {1, 2, 1})); }

TEST(ProveElision, StepsOfBothGradientsAreProven) {
  const Machine machine = *machineByName("toy");
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    EmulationRequest request{layer(), pass, machine, {}};
    request.fast = true;
    const auto emulation = Emulation::create(request);
    ASSERT_TRUE(emulation.ok()) << emulation.error().message;
    const auto one = (*emulation)->proveElision(1), some = (*emulation)->proveElision(1000000);
    ASSERT_TRUE(one.ok() && some.ok()) << (some.ok() ? one : some).error().message;
    EXPECT_GE(*one, 1);
    EXPECT_GT(*some, *one);
  }
}

TEST(ProveElision, ASumWithoutProductsHasNothingToProve) {
  const auto emulation = Emulation::create({layer(), Pass::kDb, *machineByName("toy"), {}});
  ASSERT_TRUE(emulation.ok());
  EXPECT_EQ(*(*emulation)->proveElision(), 0);
}

}  // namespace
}  // namespace cubejit
