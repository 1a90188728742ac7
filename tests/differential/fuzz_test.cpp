// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that generated passes are right on random problems of every geometry: equal to the fp64 reference on exact data, on
// guarded memory, for each ISA, layout and 1, 2 and 3 threads (bit-identical), and equal bit by bit between the interpreters, xbyak and LLVM.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "runtime/text/problem_text.h"
#include "runtime/verify/agree.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"

namespace cubejit {
namespace {

constexpr PassMask kAll{true, true, true, true};

// 1,100 problems for each of two ISAs: 2,200 problems with all four passes each.
class Fuzz : public testing::TestWithParam<IsaLevel> {};
class Formats : public testing::TestWithParam<IsaLevel> {};

TEST_P(Fuzz, MatchesReferenceForAnyThreadCount) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Session session(eagerOptions(GetParam()));  // the problems are small: let every phase run on all threads
  std::mt19937_64 random(GetParam() == IsaLevel::kAvx2 ? 2 : 512);
  for (int i = 0; i < 1100; ++i) {
    const VerifyRequest request{randomProblem(random), kAll, {1, 2, 3}, static_cast<std::uint64_t>(i), false, {}};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify " << toFlags(request.problem) << " --isa " << toString(GetParam())
        << "\nshrunk: " << toFlags(shrinkFailure(session, request));
  }
}

// Every tensor of a type, a layout and sometimes strides of its own: three ISAs, 2,100 problems in all.
TEST_P(Formats, MatchReferenceForAnyThreadCount) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Session session(eagerOptions(GetParam()));
  std::mt19937_64 random(1000 + static_cast<int>(GetParam()));
  for (int i = 0; i < 700; ++i) {
    Problem problem = randomProblem(random, 5e5);
    randomFormats(random, problem, true, true);
    const VerifyRequest request{problem, kAll, {1, 2}, static_cast<std::uint64_t>(i), i % 5 == 4, {}};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify " << toFlags(problem) << " --isa " << toString(GetParam());
  }
}

// One type for all tensors is what most callers have: dot products and typed panels in every geometry.
TEST_P(Formats, OneTypeMatchesReference) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Options options;
  options.isa = GetParam();
  Session session(options);
  std::mt19937_64 random(2000);
  for (int i = 0; i < 240; ++i) {
    Problem problem = randomProblem(random, 5e5);
    problem.dtype = static_cast<DType>(1 + i % 4);
    if (i % 3 == 0) problem.layout = Layout::kNdc1hwc0;
    const VerifyRequest request{problem, kAll, {2}, static_cast<std::uint64_t>(i), false, {}};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify " << toFlags(problem) << " --isa " << toString(GetParam());
  }
}

// Weights packed once: gradients of runs that never see w are the same.
TEST_P(Formats, KeptWeightsMatchReference) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Session session(eagerOptions(GetParam()));
  std::mt19937_64 random(3000 + static_cast<int>(GetParam()));
  int kept = 0;
  for (int i = 0; i < 200; ++i) {
    Problem problem = randomProblem(random, 5e5);
    if (i % 2 == 1) randomFormats(random, problem, true, true);
    const PassMask mask{i % 3 != 0, i % 4 == 0, false, i % 3 < 2};
    const VerifyRequest request{problem, mask, {1, 2}, static_cast<std::uint64_t>(i), false, {}, 0, WeightsUse::kKept};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify --keep-weights " << toFlags(problem) << " --isa "
        << toString(GetParam());
    const auto compiled = session.compile(problem, mask, WeightsUse::kKept);
    kept += compiled.ok() && (*compiled)->packedWeightsBytes() > 0 ? 1 : 0;
  }
  EXPECT_GE(kept, 190) << "all but empty problems";
}

// Post-ops in every format, with the plans the planner likes best; every third time weights are kept.
TEST_P(Formats, PostOpsMatchReference) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Session session(eagerOptions(GetParam()));
  std::mt19937_64 random(5000 + static_cast<int>(GetParam()));
  for (int i = 0; i < 500; ++i) {
    Problem problem = randomProblem(random, 3e5);
    if (i % 2 == 1) randomFormats(random, problem, true, true);
    randomPostOps(random, problem);
    const WeightsUse weights = i % 3 == 0 ? WeightsUse::kKept : WeightsUse::kEachRun;
    const VerifyRequest request{problem, maskOf(Pass::kY), {1, 3}, static_cast<std::uint64_t>(i), i % 5 == 4, {},
                                0,       weights};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify --passes y " << toFlags(problem) << " --isa " << toString(GetParam());
  }
}

// Gradients of the whole, activation and all: dy times the slope that is read off y, given or made by the same call.
TEST_P(Formats, SlopesMatchReference) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Session session(eagerOptions(GetParam()));
  std::mt19937_64 random(6000 + static_cast<int>(GetParam()));
  for (int i = 0; i < 300; ++i) {
    Problem problem = randomProblem(random, 3e5);
    if (i % 2 == 1) randomFormats(random, problem, true, true);
    do randomPostOps(random, problem);
    while (problem.postOps.activation == Activation::kNone);
    problem.postOps.alpha =
        problem.postOps.activation == Activation::kLeakyRelu ? std::fabs(problem.postOps.alpha) : problem.postOps.alpha;
    TensorFormat dy = formatOf(problem, TensorId::kY);  // they lie alike, whatever their types
    dy.c0 = dy.layout == Layout::kNdc1hwc0 ? dy.blockChannels() : 0;
    dy.dtype = formatOf(problem, TensorId::kDy).dtype;
    problem.formats[static_cast<std::size_t>(TensorId::kDy)] = dy;
    const PassMask masks[] = {kAll, {true, true, true}, {true, false, false}, {false, false, true}};
    const VerifyRequest request{problem, masks[i % 4], {1, 3}, static_cast<std::uint64_t>(i), i % 5 == 4, {}};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\ncubejit verify " << toFlags(problem) << " --isa " << toString(GetParam());
  }
}

// No images; or one position that no tap meets, and one that the only tap does.
Problem degenerate(std::mt19937_64& random, int kind) {
  Problem p = randomProblem(random, 5e5);
  if (kind == 0) {
    p.batch = 0;
    return p;
  }
  p.transposed = false;
  p.batch = std::max<std::int64_t>(1, p.batch);
  p.in = p.out = p.kernel = p.stride = p.dilation = Dhw{1, 1, 1};
  p.padBefore = p.padAfter = Dhw{0, 0, 0};
  if (kind == 1) {
    p.kernel.w = 2;
    p.dilation.w = 7;
    p.padBefore.w = 3;
    p.padAfter.w = 4;
  }
  return p;
}

TEST_P(Formats, DegenerateProblemsMatchReferenceUnderEveryOption) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Session session(eagerOptions(GetParam()));
  std::mt19937_64 random(4000 + static_cast<int>(GetParam()));
  const PassMask masks[] = {kAll, {true, true, false}, {false, true, true, true}, {true, false, true, true}};
  for (int i = 0; i < 360; ++i) {
    Problem problem = degenerate(random, i % 3);
    if (i % 2 == 1)
      randomFormats(random, problem, true, true);
    else
      problem.dtype = static_cast<DType>(i / 6 % 5);
    for (const WeightsUse weights : {WeightsUse::kEachRun, WeightsUse::kKept}) {
      const VerifyRequest request{problem, masks[i / 3 % 4], {1, 3}, static_cast<std::uint64_t>(i), false, {},
                                  0,       weights};
      const VerifyOutcome outcome = verifyProblem(session, request);
      ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
          << outcome.message << "\ncubejit verify " << (weights == WeightsUse::kKept ? "--keep-weights " : "")
          << toFlags(problem) << " --isa " << toString(GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Formats, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                         [](const auto& info) { return toString(info.param); });

// Every legal candidate must be right, not only the one the planner likes best.
TEST_P(Fuzz, EveryCandidatePlanMatchesReference) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Options options;
  options.isa = GetParam();
  Session session(options);
  std::mt19937_64 random(77);
  int plans = 0;
  for (int i = 0; i < 60; ++i) {
    const Problem problem = randomProblem(random, 3e5);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto report = session.plan(problem, pass, true);
      ASSERT_TRUE(report.ok()) << report.error().message;
      PassMask mask;
      (pass == Pass::kDx ? mask.dx : pass == Pass::kDw ? mask.dw : mask.db) = true;
      for (std::size_t c = 0; c < report->candidates.size(); c += 1 + random() % 23) {
        if (!report->candidates[c].refusedBy.empty()) continue;
        const VerifyRequest request{
            problem, mask, {2}, static_cast<std::uint64_t>(i), false, {report->candidates[c].plan}};
        const VerifyOutcome outcome = verifyProblem(session, request);
        ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n"
                                                                    << toFlags(problem) << "\ncandidate " << c;
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, 500);
}

TEST_P(Fuzz, RealsStayWithinTheirErrorBound) {
  if (!hostRuns(GetParam())) GTEST_SKIP() << "this CPU cannot run " << toString(GetParam());
  Options options;
  options.isa = GetParam();
  Session session(options);
  std::mt19937_64 random(99);
  for (int i = 0; i < 150; ++i) {
    const VerifyRequest request{randomProblem(random), kAll, {2}, static_cast<std::uint64_t>(i), true, {}};
    const VerifyOutcome outcome = verifyProblem(session, request);
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n" << toFlags(request.problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Fuzz, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512),
                         [](const auto& info) { return toString(info.param); });

// The interpreters take most of the time; `cubejit verify --fuzz N --agree ...` compares as many problems as wanted.
TEST(Backends, AgreeBitByBit) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    std::vector<BackendKind> backends{BackendKind::kTileInterpreter, BackendKind::kInterpreter};
    if (hostRuns(level)) backends.push_back(BackendKind::kXbyak);
    if (hostRuns(level) && CUBEJIT_TESTS_LLVM) backends.push_back(BackendKind::kLlvm);
    Options options;
    options.isa = level;
    const auto sessions = sessionsFor(options, backends);
    std::mt19937_64 random(5);
    for (int i = 0; i < 60; ++i) {
      VerifyRequest request{randomProblem(random, 2e4), kAll, {2}, static_cast<std::uint64_t>(i), true, {}};
      if (i % 2 == 1) randomPostOps(random, request.problem);
      if (request.problem.postOps.activation == Activation::kLeakyRelu && request.problem.postOps.alpha < 0)
        request.problem.postOps.alpha = 0.5F;  // else there are no gradients
      const VerifyOutcome outcome = agreeBitByBit(sessions, request);
      ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
          << outcome.message << "\n"
          << toFlags(request.problem) << " --isa " << toString(level);
    }
  }
}

// A difference must be found: plans for another ISA sum in another order.
TEST(Backends, DisagreementNamesElementAndBackends) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    Options options;
    options.isa = level;
    options.backend = level == IsaLevel::kAvx2 ? BackendKind::kInterpreter : BackendKind::kTileInterpreter;
    sessions.push_back(std::make_unique<Session>(options));
  }
  std::mt19937_64 random(8);
  int disagreements = 0;
  for (int i = 0; i < 10; ++i) {
    const VerifyRequest request{randomProblem(random, 2e4), kAll, {1}, 1, true, {}};
    const VerifyOutcome outcome = agreeBitByBit(sessions, request);
    if (outcome.verdict == VerifyOutcome::Verdict::kPassed) continue;
    ++disagreements;
    EXPECT_NE(outcome.message.find("by tile_interpreter"), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("by interpreter"), std::string::npos) << outcome.message;
  }
  EXPECT_GT(disagreements, 0);
}

// Many channels of one group out of channels-last tensors: nothing for the spatial algorithm.
TEST(Fuzz, AgreementSkipsProblemsThatAnAlgorithmDoesNotTake) {
  Problem p;
  p.rank = 1;
  p.cin = p.cout = 64;
  p.in = p.out = Dhw{1, 1, 5};
  Options options;
  options.algorithm = "spatial";
  const auto sessions = sessionsFor(options, {BackendKind::kXbyak, BackendKind::kInterpreter});
  const VerifyOutcome outcome = agreeBitByBit(sessions, VerifyRequest{p, {false, true, false}, {1}, 1, false, {}});
  EXPECT_EQ(outcome.verdict, VerifyOutcome::Verdict::kSkipped) << outcome.message;
}

}  // namespace
}  // namespace cubejit
