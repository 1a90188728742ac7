// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that Winograd gradients are as close to the fp64 reference as documented, whichever plan computes them: every family
// of candidates, on random geometries, guarded memory, 1 and 2 threads (bit-identical); and that backends agree to the bit.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "runtime/text/problem_text.h"
#include "runtime/verify/agree.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tests/support/run_code.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr PassMask kDxDw{true, true, false};

Problem randomFilterable(std::mt19937_64& random) {
  Problem p = randomProblem(random, 3e5);
  fitRelaxedMath(random, p);
  return p;
}

class Winograd : public testing::TestWithParam<IsaLevel> {};

TEST_P(Winograd, MatchesTheReferenceForAnyThreadCount) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Options options;
  options.isa = GetParam();
  options.wakeCycles = 0;
  options.algorithm = "winograd";
  Session session(options);
  std::mt19937_64 random(77);
  for (int i = 0; i < 150; ++i) {
    Problem problem = randomFilterable(random);
    if (i % 3 == 0) randomFormats(random, problem, true, true);
    const VerifyRequest request{problem, kDxDw, {1, 2}, static_cast<std::uint64_t>(i), i % 2 == 1, {}};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify " << toFlags(problem) << " --algorithm winograd --isa "
        << toString(GetParam());
  }
}
INSTANTIATE_TEST_SUITE_P(Isa, Winograd, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kNeon),
                         [](const auto& info) { return std::string(toString(info.param)); });

TEST(WinogradPlans, AllOfThemAreRight) {
  Options options;
  options.wakeCycles = 0;
  Session session(options);
  Machine machine;
  machine.cores = 2;
  machine.isa = isaOf(runnableIsas().front());
  machine.buffers = Buffers{32 << 10, 32 << 10, 2048, 8 << 10, 32 << 20};  // a small L2: several tasks even here
  std::mt19937_64 random(99);
  int plans = 0;
  for (int i = 0; i < 12; ++i) {
    Problem problem = randomFilterable(random);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const PassMask mask = maskOf(pass);
      for (const TilingPlan& plan : proposedPlans("winograd", problem, pass, machine)) {
        ++plans;
        const VerifyOutcome outcome =
            verifyProblem(session, VerifyRequest{problem, mask, {1, 2}, static_cast<std::uint64_t>(i), true, {plan}});
        ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n" << toFlags(problem);
      }
    }
  }
  EXPECT_GT(plans, 300);
}

// What a program of y has most of: eight residues, panels of both tensors' rows, post-ops.
TEST(WinogradPlans, ResultsOfEveryFormAreFinished) {
  Options options;
  options.wakeCycles = 0;
  options.algorithm = "winograd";
  Session session(options);
  std::size_t plans = 0;
  for (const bool transposed : {false, true}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
        Problem problem = problemOf(1, 5, 9, {6, 6, 6}, {3, 3, 3}, {1, 1, 1});
        problem.transposed = transposed;
        problem.stride = Dhw{stride, stride, stride};
        const std::int64_t out = transposed ? 5 * stride + 1 : 5 / stride + 1;
        problem.out = Dhw{out, out, out};
        problem.layout = layout;
        problem.math = MathMode::kRelaxed;
        problem.postOps.bias = problem.postOps.add = true;
        problem.postOps.activation = Activation::kRelu;
        ASSERT_TRUE(checkProblem(problem).ok());
        const auto choice =
            choosePlan(problem, Pass::kY, session.machine(), true, WeightsUse::kEachRun, options.algorithm);
        ASSERT_TRUE(choice.ok()) << choice.error().message;
        for (const Candidate& candidate : choice->considered) {
          if (!candidate.refusedBy.empty()) continue;
          ++plans;
          const VerifyOutcome outcome =
              verifyProblem(session, VerifyRequest{problem, maskOf(Pass::kY), {2}, plans, false, {candidate.plan}});
          ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n" << toFlags(problem);
        }
      }
    }
  }
  EXPECT_GT(plans, 100U);
}

TEST(WinogradPlans, KeptWeightsAreTransformedOnce) {
  Options options;
  options.wakeCycles = 0;
  options.algorithm = "winograd";
  Session session(options);
  std::mt19937_64 random(5);
  for (int i = 0; i < 30; ++i) {
    VerifyRequest request{randomFilterable(random), {true, false, false}, {1, 2}, 3, true, {}};
    request.weights = WeightsUse::kKept;
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n" << toFlags(request.problem);
  }
}

TEST(WinogradPlans, BackendsAgreeBitByBit) {
  Options options;
  options.wakeCycles = 0;
  options.algorithm = "winograd";
  const auto sessions = sessionsFor(options, {kUsualBackend, BackendKind::kInterpreter, BackendKind::kTileInterpreter});
  std::mt19937_64 random(6);
  for (int i = 0; i < 30; ++i) {
    const Problem problem = randomFilterable(random);
    const VerifyOutcome outcome =
        agreeBitByBit(sessions, VerifyRequest{problem, kDxDw, {1, 2}, static_cast<std::uint64_t>(i), true, {}});
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n" << toFlags(problem);
  }
}

}  // namespace
}  // namespace cubejit
