// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do passes of one call share conversions where that pays, does the report say what runs, does a limit of workspace hold?
#include "runtime/pipeline/plan_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "runtime/tuning/json_record.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr PassMask kAllPasses{true, true, true, true};

Options twoThreads(std::int64_t memLimit = 0) {
  Options options;
  options.threads = 2;
  options.memLimit = memLimit;
  return options;
}

Problem randomFormatted(std::mt19937_64& random) {
  Problem p = randomProblem(random, 1e6);
  randomFormats(random, p, true, true);
  if (random() % 4 == 0) randomPostOps(random, p);
  return p;
}

VerifyOutcome verified(Session& session, const Problem& p, std::uint64_t seed = 1) {
  VerifyRequest request;
  request.problem = p;
  request.passes = kAllPasses;
  request.threads = {1, 2};
  request.seed = seed;
  return verifyProblem(session, request);
}

bool same(const TilingPlan& a, const TilingPlan& b) { return planIdentity(a) == planIdentity(b); }

TEST(PlanCall, ConvertsWhatTwoPassesReadAndOneConversionServes) {
  // Half precision without products of its own: each pass would convert.
  Problem p = squareProblem(8, 256, 256, 14);
  p.dtype = DType::kF16;
  p.layout = Layout::kNcdhw;
  const Machine machine = hostMachine(avx512Isa(), 2, 32 << 10, 1 << 20, 32 << 20);
  const auto call = planCall({p, kAllPasses, {}, WeightsUse::kEachRun}, machine, twoThreads());
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_THAT(call->converted, testing::ElementsAre(TensorId::kDy, TensorId::kX));
  for (const TensorId t : call->converted) EXPECT_EQ(formatOf(call->problem, t).dtype, DType::kF32);
  double apart = 0;
  for (const Pass pass : kPasses) apart += choosePlan(p, pass, machine, false)->cost.totalCycles;
  EXPECT_LT(call->predictedCycles, apart);
  const auto alone = planCall({p, maskOf(Pass::kY), {}, WeightsUse::kEachRun}, machine, twoThreads());
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(alone->converted.empty()) << "nobody to share with";
}

TEST(PlanCall, ReportsWhatRunsAndAllOfItIsRight) {
  std::mt19937_64 random(11);
  Session session(twoThreads());
  std::map<TensorId, int> converted;
  int called = 0;
  for (int i = 0; i < 150; ++i) {
    const Problem p = randomFormatted(random);
    const auto call = session.planCall({p, kAllPasses, {}, WeightsUse::kEachRun});
    const auto compiled = session.compile(p, kAllPasses);
    ASSERT_EQ(call.ok(), compiled.ok());
    if (!call.ok()) continue;
    ++called;
    EXPECT_EQ(call->workspaceBytes, (*compiled)->workspaceBytes());
    ASSERT_EQ(call->plans.size(), 4U);
    for (const TilingPlan& plan : call->plans) EXPECT_TRUE(same(plan, (*compiled)->plan(plan.pass)));
    for (const TensorId t : call->converted) ++converted[t];
    const VerifyOutcome outcome = verified(session, p, 5U + static_cast<std::uint64_t>(i));
    EXPECT_NE(outcome.verdict, VerifyOutcome::Verdict::kFailed) << outcome.message;
  }
  EXPECT_GT(called, 100);
  for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW})
    EXPECT_GT(converted[t], 0) << toString(t) << " is never shared, so sharing it was not tried";
}

TEST(PlanCall, KeepsWeightsAsTheyArePacked) {
  Problem p = squareProblem(1, 128, 128, 4);
  p.dtype = DType::kF16;
  Session session(twoThreads());
  const auto call = session.planCall({p, kAllPasses, {}, WeightsUse::kKept});
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_EQ(std::count(call->converted.begin(), call->converted.end(), TensorId::kW), 0);
  VerifyRequest request;
  request.problem = p;
  request.passes = kAllPasses;
  request.weights = WeightsUse::kKept;
  const VerifyOutcome outcome = verifyProblem(session, request);
  EXPECT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message;
}

TEST(PlanCall, ALimitOfWorkspaceHoldsOrSaysWhatIsNeeded) {
  std::mt19937_64 random(12);
  int fit = 0, other = 0, refused = 0;
  for (int i = 0; i < 60; ++i) {
    const Problem p = randomFormatted(random);
    const auto free = Session(twoThreads()).planCall({p, kAllPasses, {}, WeightsUse::kEachRun});
    if (!free.ok() || free->workspaceBytes == 0) continue;
    const auto most = static_cast<std::int64_t>(free->workspaceBytes);
    const auto roomy = Session(twoThreads(most)).planCall({p, kAllPasses, {}, WeightsUse::kEachRun});
    ASSERT_TRUE(roomy.ok()) << roomy.error().message;
    EXPECT_LE(roomy->workspaceBytes, free->workspaceBytes);
    const std::int64_t limit = std::max<std::int64_t>(1, most * (1 + static_cast<std::int64_t>(random() % 9)) / 10);
    Session session(twoThreads(limit));
    const auto compiled = session.compile(p, kAllPasses);
    if (!compiled.ok()) {
      ++refused;
      EXPECT_EQ(compiled.error().code, ErrorCode::kLimitExceeded);
      EXPECT_THAT(compiled.error().message,
                  AllOf(HasSubstr(std::to_string(limit)), HasSubstr("bytes of workspace"), HasSubstr("--mem-limit")));
      continue;
    }
    ++fit;
    EXPECT_LE((*compiled)->workspaceBytes(), static_cast<std::size_t>(limit));
    for (const TilingPlan& plan : free->plans) other += same(plan, (*compiled)->plan(plan.pass)) ? 0 : 1;
    const VerifyOutcome outcome = verified(session, p);
    EXPECT_NE(outcome.verdict, VerifyOutcome::Verdict::kFailed) << outcome.message;
  }
  EXPECT_GT(fit, 5);
  EXPECT_GT(other, 0) << "other plans that fit must be found";
  EXPECT_GT(refused, 5);
}

TEST(PlanCall, PlansThatAreGivenAndPassesAloneMindTheLimit) {
  Problem p = squareProblem(2, 64, 64, 28);
  p.layout = Layout::kNcdhw;
  const auto report = Session(twoThreads()).plan(p, Pass::kDx);
  ASSERT_TRUE(report.ok() && report->workspaceBytes > 0);
  Session session(twoThreads(static_cast<std::int64_t>(report->workspaceBytes) - 1));
  const auto given = session.compile({p, maskOf(Pass::kDx), {report->plan}, WeightsUse::kEachRun});
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().code, ErrorCode::kLimitExceeded);
  EXPECT_THAT(given.error().message, HasSubstr("the plan of dx takes"));
  const auto explained = session.plan(p, Pass::kDx, true);
  if (!explained.ok()) {
    EXPECT_EQ(explained.error().code, ErrorCode::kLimitExceeded);
    return;
  }
  EXPECT_LT(explained->workspaceBytes, report->workspaceBytes);
  ASSERT_FALSE(explained->candidates.empty());
  EXPECT_TRUE(same(explained->candidates.front().plan, explained->plan));
  EXPECT_TRUE(std::any_of(explained->candidates.begin(), explained->candidates.end(), [&](const PlanCandidate& c) {
    return same(c.plan, report->plan) && !c.refusedBy.empty() &&
           c.refusedBy.front().find("more workspace than the limit") != std::string::npos;
  }));
}

}  // namespace
}  // namespace cubejit
