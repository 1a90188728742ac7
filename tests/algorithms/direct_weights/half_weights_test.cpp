// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every candidate plan of a 16-bit weight gradient is exact, whichever pixels its dot products pair and whichever operand
// is widened or paired as it is read: even and odd numbers of images, chunks of part of an image and of several, activations of any layout,
// guarded memory, 1 and 2 threads (bit-identical).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "algorithms/direct_weights/direct_weights.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// Verifies up to 24 candidates each of 36 random problems; how many plans that were, and how many read lanes where they lie.
struct Verified {
  std::size_t plans = 0, lanesInPlace = 0;
};

Verified verifyCandidates(IsaLevel level, DType dtype) {
  Verified verified;
  Session session(eagerOptions(level));
  const Machine machine = machineOfSmallL2(level);
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  std::mt19937_64 random(41);
  for (std::size_t i = 0; i < 36; ++i) {
    Problem problem = randomProblem(random, 2e5);
    problem.batch = 1 + static_cast<std::int64_t>(i % 4);
    problem.dtype = dtype;
    problem.layout = kLayouts[i % kLayouts.size()];
    std::vector<DirectWeightsPlan> candidates = weightCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random);
    candidates.resize(std::min<std::size_t>(candidates.size(), 24));
    for (const DirectWeightsPlan& plan : candidates) {
      if (!checkPlan(problem, plan, machine).empty()) continue;
      ++verified.plans;
      verified.lanesInPlace += plan.packsVectors() ? 0 : 1;
      if (!planIsRight(session, problem, plan, i)) return verified;
    }
  }
  return verified;
}

TEST(DotWeights, AllPlansAreRight) {
  if (!hostRuns(IsaLevel::kAvx512Bf16)) GTEST_SKIP() << "this CPU has no dot products of bf16";
  const Verified verified = verifyCandidates(IsaLevel::kAvx512Bf16, DType::kBf16);
  EXPECT_GT(verified.plans, 500U);
  EXPECT_GT(verified.lanesInPlace, 50U) << "pairs are formed in the kernel";
}

TEST(WidenedWeights, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF16, DType::kBf16}) {
      const Verified verified = verifyCandidates(level, dtype);
      EXPECT_GT(verified.plans, 300U);
      EXPECT_GT(verified.lanesInPlace, 50U) << toString(level) << " " << toString(dtype);
    }
  }
}

}  // namespace
}  // namespace cubejit
