// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is the adjoint's dx the convolution's y, in extents, formats, plans and words, and is its adjoint the convolution again?
#include "algorithms/kit/adjoint.h"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/lower.h"
#include "algorithms/transforms/forward_names.h"
#include "cubejit/index_map.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

TEST(Adjoint, SwapsTheTensorsAndNothingElse) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    Problem p = randomProblem(random);
    randomFormats(random, p, true, true);
    p.postOps.bias = p.postOps.add = true;
    const Problem adjoint = adjointOf(p);
    EXPECT_FALSE(adjoint.postOps.any()) << "they are y's";
    EXPECT_EQ(adjoint.transposed, !p.transposed);
    EXPECT_EQ(formatBytes(adjoint, TensorId::kDy), formatBytes(p, TensorId::kX));
    EXPECT_EQ(formatBytes(adjoint, TensorId::kW), formatBytes(p, TensorId::kW));
    EXPECT_EQ(formatBytes(adjoint, TensorId::kDx), formatBytes(p, TensorId::kY));
    const IndexMap w = indexMap(p, TensorId::kW), same = indexMap(adjoint, TensorId::kW);
    EXPECT_EQ(w.extent, same.extent);
    const Problem again = adjointOf(adjoint);
    EXPECT_EQ(again.cin, p.cin);
    EXPECT_EQ(again.in, p.in);
    EXPECT_EQ(again.transposed, p.transposed);
  }
}

TEST(Adjoint, IsToldInWordsOfTheConvolution) {
  EXPECT_EQ(inForwardWords("reorder_dy must be true: it cannot take dy as f16; dx needs dx."),
            "reorder_x must be true: it cannot take x as f16; y needs y.");
  EXPECT_EQ(inForwardWords("dyadic indx dx_dw_dy2 "), "dyadic indx y_dw_x2 ");
  EXPECT_EQ(inForwardWords(""), "");
}

TEST(Adjoint, PlansAndProgramsOfForwardNameItsTensors) {
  std::mt19937_64 random(6);
  const Machine machine = machineOfSmallL2(IsaLevel::kAvx2);
  for (int i = 0; i < 60; ++i) {
    Problem p = randomProblem(random, 1e5);
    randomFormats(random, p, true, true);
    const auto choice = choosePlan(p, Pass::kY, machine, false);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    EXPECT_EQ(choice->plan.pass, Pass::kY);
    EXPECT_TRUE(checkPlan(p, choice->plan, machine).empty());
    const auto program = lower(p, choice->plan, machine);
    ASSERT_TRUE(program.ok()) << program.error().message;
    for (const Buffer& buffer : program->buffers) {
      const auto tensor = tensorNamed(buffer.boundName());
      EXPECT_EQ(tensor.has_value(), buffer.isCallers()) << buffer.name;
      EXPECT_NE(tensor, TensorId::kDy);
      EXPECT_NE(tensor, TensorId::kDx);
      EXPECT_EQ(buffer.use == Buffer::Use::kOutput, tensor == TensorId::kY) << buffer.name;
      EXPECT_EQ(buffer.kept, tensor == TensorId::kW) << buffer.name;
    }
    EXPECT_EQ(program->name.substr(0, 2), "y_");
  }
}

}  // namespace
}  // namespace cubejit
