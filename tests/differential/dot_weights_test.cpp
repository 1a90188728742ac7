// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every candidate plan of a bf16 weight gradient is exact, whichever pixels its dot products pair: even and odd numbers
// of images, chunks of part of an image and of several, activations of any layout, guarded memory, 1 and 2 threads (bit-identical).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "runtime/json_problem.h"
#include "runtime/problem_text.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tiling/planner.h"
#include "tiling/weights_candidates.h"

namespace cubejit {
namespace {

TEST(DotWeights, AllPlansAreRight) {
  const std::vector<IsaLevel> levels = runnableIsas();
  if (std::find(levels.begin(), levels.end(), IsaLevel::kAvx512Bf16) == levels.end())
    GTEST_SKIP() << "this CPU has no dot products of bf16";
  Options options;
  options.wakeCycles = 0;
  options.isa = IsaLevel::kAvx512Bf16;
  Session session(options);
  Machine machine;
  machine.cores = 2;
  machine.isa = isaOf(IsaLevel::kAvx512Bf16);
  machine.buffers =
      Buffers{32 << 10, 16 << 10, 2048, 8 << 10, 32 << 20};  // a small L2: parts of images are chunks, too
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  std::mt19937_64 random(41);
  std::size_t plans = 0;
  for (std::size_t i = 0; i < 36; ++i) {
    Problem problem = randomProblem(random, 2e5);
    problem.batch = 1 + static_cast<std::int64_t>(i % 4);
    problem.dtype = DType::kBf16;
    problem.layout = kLayouts[i % kLayouts.size()];
    std::vector<TilingPlan> candidates = weightCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random);
    candidates.resize(std::min<std::size_t>(candidates.size(), 24));
    for (const TilingPlan& plan : candidates) {
      if (!checkPlan(problem, plan, machine).empty()) continue;
      ++plans;
      const VerifyOutcome outcome =
          verifyProblem(session, VerifyRequest{problem, {false, true, false}, {1, 2}, i, false, {plan}});
      ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
          << outcome.message << "\ncubejit verify " << toFlags(problem) << "\n"
          << planToJson(plan);
    }
  }
  EXPECT_GT(plans, 500U);
}

}  // namespace
}  // namespace cubejit
