// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is every plan of a search legal, different in one decision only, and does it compute the right gradient?
#include "runtime/tuning/search_space.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/tuning/json_record.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

int differences(const TilingPlan& a, const TilingPlan& b) {
  std::vector<std::int64_t> first, second;
  const auto into = [](std::vector<std::int64_t>& to) {
    return [&to](const char* name, const auto& field) {
      if (std::string(name).rfind("single_shape", 0) != 0) to.push_back(static_cast<std::int64_t>(field));
    };
  };
  describePlan(a, into(first));
  describePlan(b, into(second));
  int count = 0;
  for (std::size_t i = 0; i < first.size(); ++i) count += first[i] != second[i] ? 1 : 0;
  return count;
}

TEST(SearchSpace, BeginsWithThePlannersChoiceAndHoldsOnlyLegalPlans) {
  const Problem p = smallConvolution();
  const Machine m = hostOf(IsaLevel::kAvx512);
  for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
    const auto space = SearchSpace::of(p, pass, m);
    ASSERT_TRUE(space.ok());
    ASSERT_FALSE(space.value().enumerated().empty());
    const auto chosen = choosePlan(p, pass, m, false);
    EXPECT_EQ(planIdentity(space.value().enumerated().front().plan), planIdentity(chosen.value().plan));
    std::set<std::string> seen;
    double before = 0;
    for (const SearchPlan& plan : space.value().enumerated()) {
      EXPECT_TRUE(checkPlan(p, plan.plan, m).empty());
      EXPECT_TRUE(seen.insert(planIdentity(plan.plan)).second) << "a plan is enumerated twice";
      EXPECT_GE(plan.cost.totalCycles, before);
      before = plan.cost.totalCycles;
    }
  }
}

TEST(SearchSpace, MutationsChangeOneDecisionAndAreLegal) {
  const Problem p = smallConvolution(48);
  const Machine m = hostOf(IsaLevel::kAvx512);
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    const auto space = SearchSpace::of(p, pass, m);
    ASSERT_TRUE(space.ok());
    const TilingPlan from = space.value().enumerated().front().plan;
    std::mt19937_64 random(1);
    const auto mutations = space.value().mutations(from, random);
    EXPECT_GT(mutations.size(), 20U);
    std::set<std::string> seen;
    for (const SearchPlan& child : mutations) {
      EXPECT_EQ(differences(from, child.plan), 1);
      EXPECT_TRUE(checkPlan(p, child.plan, m).empty());
      EXPECT_TRUE(seen.insert(planIdentity(child.plan)).second);
      EXPECT_GT(child.cost.totalCycles, 0);
    }
  }
}

TEST(SearchSpace, BackendsPrefetchesAndStreamingStoresAreSearched) {
  Problem p = smallConvolution(64);
  p.kernel = {1, 1, 1};
  p.padBefore = p.padAfter = {0, 0, 0};
  p.in = p.out = {1, 64, 64};
  p.layout = Layout::kNdhwc;
  const Machine m = hostOf(IsaLevel::kAvx512);
  for (const bool llvm : {false, true}) {
    const auto space = SearchSpace::of(p, Pass::kDx, m, llvm);
    ASSERT_TRUE(space.ok());
    std::mt19937_64 random(1);
    int streaming = 0, prefetching = 0, backends = 0;
    for (const SearchPlan& start : space.value().enumerated()) {
      if (planFamily(start.plan) != "direct:output_channels" || fieldOf(start.plan, "buffer_c") == 1) continue;
      for (const SearchPlan& child : space.value().mutations(start.plan, random)) {
        streaming += fieldOf(child.plan, "streaming_store") == 1 ? 1 : 0;
        prefetching += fieldOf(child.plan, "prefetch") != 0 ? 1 : 0;
        backends += child.plan.backend == PlanBackend::kLlvm ? 1 : 0;
      }
      break;
    }
    EXPECT_EQ(streaming, p.batch * 64 * 64 * 64 * 4 > m.buffers.l1Bytes ? 1 : 0);
    EXPECT_EQ(prefetching, 2);  // none, and operands
    EXPECT_EQ(backends, llvm ? 1 : 0);
  }
}

// What the planner's rules let through must either be refused by a later stage, or be right.
TEST(SearchSpace, MutatedPlansAreRefusedOrRight) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  std::mt19937_64 random(11);
  Session session;
  int ran = 0;
  for (int i = 0; i < 40; ++i) {
    const Problem p = randomProblem(random, 2e5);
    const Pass pass = i % 2 == 0 ? Pass::kDx : Pass::kDw;
    const auto space = SearchSpace::of(p, pass, session.machine());
    if (!space.ok()) continue;
    TilingPlan plan = space.value().enumerated().front().plan;
    for (int generation = 0; generation < 3; ++generation) {
      const auto children = space.value().mutations(plan, random);
      if (children.empty()) break;
      plan = children.front().plan;
    }
    VerifyRequest request;
    request.problem = p;
    request.passes = maskOf(pass);
    request.plans = {plan};
    request.threads = {1, 2};
    if (!session.compile(CompileRequest{p, request.passes, {plan}}).ok()) continue;
    ++ran;
    const VerifyOutcome outcome = verifyProblem(session, request);
    EXPECT_NE(outcome.verdict, VerifyOutcome::Verdict::kFailed) << outcome.message << "\n"
                                                                << problemIdentity(p) << "\n"
                                                                << planIdentity(plan);
  }
  EXPECT_GT(ran, 20);
}

TEST(SearchSpace, AClosedSpaceHoldsNothingElse) {
  const Problem p = smallConvolution();
  const Machine m = hostOf(IsaLevel::kAvx512);
  const auto open = SearchSpace::of(p, Pass::kDx, m);
  std::mt19937_64 random(1);
  std::vector<SearchPlan> plans = open.value().mutations(open.value().enumerated().front().plan, random);
  plans.resize(4);
  const SearchSpace closed = SearchSpace::among(p, m, plans);
  EXPECT_EQ(closed.enumerated().size(), 4U);
  std::set<std::string> known;
  for (const SearchPlan& plan : plans) known.insert(planIdentity(plan.plan));
  for (const SearchPlan& child : closed.mutations(open.value().enumerated().front().plan, random))
    EXPECT_EQ(known.count(planIdentity(child.plan)), 1U);
}

TEST(SearchSpace, AProblemWithoutPlanIsAnError) {
  Problem p = smallConvolution();
  Machine m = hostOf(IsaLevel::kAvx512);
  m.isa.vectorRegs = 2;
  EXPECT_FALSE(SearchSpace::of(p, Pass::kDx, m).ok());
}

}  // namespace
}  // namespace cubejit
