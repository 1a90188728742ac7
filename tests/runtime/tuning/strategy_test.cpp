// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does each strategy give every plan once, in its order, and does learning help?
#include "runtime/tuning/strategy.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/tuning/json_record.h"
#include "tests/support/host.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

class Strategies : public ::testing::TestWithParam<StrategyKind> {
 protected:
  const Problem problem_ = smallConvolution(32);
  const SearchSpace space_ = SearchSpace::of(problem_, Pass::kDw, hostOf(IsaLevel::kAvx512)).value();
};

TEST_P(Strategies, NoPlanTwiceAndNoneThatWasTold) {
  const auto strategy = makeStrategy(GetParam(), space_, 1, {});
  std::set<std::string> seen;
  strategy->learn(space_.enumerated().front(), 1.0);
  seen.insert(planIdentity(space_.enumerated().front().plan));
  for (int i = 0; i < 60; ++i) {
    const auto plan = strategy->next();
    if (!plan) break;
    EXPECT_TRUE(seen.insert(planIdentity(plan->plan)).second);
    strategy->learn(*plan, i % 5 == 0 ? std::nullopt : std::optional<double>(1.0 + 0.01 * i));
  }
  EXPECT_GT(seen.size(), 30U);
}

TEST_P(Strategies, TheSameSeedGivesTheSameOrder) {
  const auto a = makeStrategy(GetParam(), space_, 5, {}), b = makeStrategy(GetParam(), space_, 5, {});
  for (int i = 0; i < 40; ++i) {
    const auto first = a->next(), second = b->next();
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) break;
    EXPECT_EQ(planIdentity(first->plan), planIdentity(second->plan));
    a->learn(*first, 1.0 + 0.001 * i);
    b->learn(*second, 1.0 + 0.001 * i);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Strategies,
                         ::testing::Values(StrategyKind::kModel, StrategyKind::kEvolve, StrategyKind::kRandom,
                                           StrategyKind::kExhaustive),
                         [](const auto& info) { return toString(info.param); });

TEST(Strategy, ExhaustiveGivesAllInThePlannersOrderAndEnds) {
  const SearchSpace space = SearchSpace::of(smallConvolution(), Pass::kDx, hostOf(IsaLevel::kAvx512)).value();
  const auto strategy = makeStrategy(StrategyKind::kExhaustive, space, 1, {});
  for (const SearchPlan& plan : space.enumerated()) {
    const auto given = strategy->next();
    ASSERT_TRUE(given.has_value());
    EXPECT_EQ(planIdentity(given->plan), planIdentity(plan.plan));
  }
  EXPECT_FALSE(strategy->next().has_value());
}

TEST(Strategy, EvolveLeavesTheEnumeratedPlans) {
  const SearchSpace space = SearchSpace::of(smallConvolution(32), Pass::kDx, hostOf(IsaLevel::kAvx512)).value();
  std::set<std::string> enumerated;
  for (const SearchPlan& plan : space.enumerated()) enumerated.insert(planIdentity(plan.plan));
  const auto strategy = makeStrategy(StrategyKind::kEvolve, space, 1, {});
  int beyond = 0;
  for (int i = 0; i < 40; ++i) {
    const auto plan = strategy->next();
    ASSERT_TRUE(plan.has_value());
    beyond += enumerated.count(planIdentity(plan->plan)) == 0 ? 1 : 0;
    strategy->learn(*plan, 1.0);
  }
  EXPECT_GT(beyond, 10);
}

// A machine on which memory is dear: the model strategy must find good plans sooner once it was told about other problems.
TEST(Strategy, TheModelLearnsFromOtherProblems) {
  const Machine m = hostMachine(isaOf(IsaLevel::kAvx512), 2, 32 << 10, 512 << 10, 32 << 20, HostCore::kZen5);
  const auto truth = [](const PlanCost& c) {
    return c.computeCycles + 10 * c.memoryCycles + c.callCycles + c.moveCycles;
  };
  std::vector<FitPoint> other;
  const SearchSpace seen = SearchSpace::of(smallConvolution(48), Pass::kDw, m).value();
  for (const SearchPlan& plan : seen.enumerated())
    other.push_back({plan.cost, planFamily(plan.plan), truth(plan.cost), 0});
  const SearchSpace space = SearchSpace::of(smallConvolution(32), Pass::kDw, m).value();
  // Of the first ones it gives: one alone may be lucky.
  const auto meanOfFirst = [&](const std::vector<FitPoint>& points) {
    const auto strategy = makeStrategy(StrategyKind::kModel, space, 1, points);
    double sum = 0;
    for (int i = 0; i < 16; ++i) sum += truth(strategy->next()->cost);
    return sum / 16;
  };
  EXPECT_LT(meanOfFirst(other), 0.95 * meanOfFirst({}));
}

TEST(Strategy, UnknownNamesAreRefused) {
  EXPECT_TRUE(parseStrategy("evolve").ok());
  const auto wrong = parseStrategy("annealing");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("model, evolve, random, exhaustive"), std::string::npos);
}

}  // namespace
}  // namespace cubejit
