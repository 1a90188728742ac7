// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients whose columns are folded into channels are exact, those of transposed convolutions, which are what forward
// solves, among them: 1D, 2D and 3D, strides of D and H that overlap, leave gaps or do not, every type and layout of dx and of w.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/kit/reorder.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

// A random convolution, made foldable.
Problem foldableProblem(RandomConvolution& random, int) {
  Problem p = random.next();
  p.groups = 1;
  p.kernel.w = p.stride.w = 2 + random.below(7);
  p.dilation.w = 1;
  p.padBefore.w = p.padAfter.w = 0;
  (p.transposed ? p.out : p.in).w = (p.transposed ? p.in : p.out).w * p.kernel.w;
  (p.transposed ? p.cout : p.cin) = std::max<std::int64_t>(1, random.below(16) - 3);  // often one
  EXPECT_TRUE(foldable(p));
  p.layout = random.layout();
  constexpr Layout kWeights[] = {Layout::kNcdhw, Layout::kNdhwc, Layout::kFractalZ3d};
  p.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{{}, kWeights[random.below(3)], {}};
  return p;
}

Reorders folds(const Problem& problem) {
  Reorders reorders;
  reorders.spaceToDepth = true;
  reorders.w = !weightsFoldInPlace(problem);
  if (!foldsInPlace(problem)) setReordered(reorders, foldedTensor(problem));
  return reorders;
}

const RandomPlans<DirectDataPlan> kFolded{
    .random = RandomConvolution(31),
    .problem = foldableProblem,
    .candidates =
        [](const Problem& problem, const Machine& machine) {
          return directDataCandidates(coreProblem(problem, Pass::kDx, folds(problem)), machine);
        },
    .plan = [](const Problem& problem, DirectDataPlan plan, RandomConvolution&) -> std::optional<TilingPlan> {
      return TilingPlan(plan, folds(problem));
    },
    .most = 3};

TEST(SpaceToDepth, AllPlansAreRight) {
  inSettings(
      {IsaLevel::kAvx512Bf16, IsaLevel::kAvx2}, {DType::kF32, DType::kBf16, DType::kF16}, [](const Setting& setting) {
        const auto verified = verifyPlans(kFolded, setting, 60);
        const auto pairs = countPlans<DirectDataPlan>(verified, [](const auto& plan) { return plan.dotProducts; });
        EXPECT_GT(verified.size(), 100U);
        EXPECT_EQ(pairs > 0, setting.dtype == DType::kBf16 && setting.level == IsaLevel::kAvx512Bf16);
      });
}

}  // namespace
}  // namespace cubejit
