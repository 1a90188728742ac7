// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a refit learn terms that are wrong, leave a right model alone, and are ranks counted as in textbooks?
#include "runtime/tuning/cost_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cubejit {
namespace {

PlanCost costOf(double compute, double memory, double move, double call) {
  PlanCost c;
  c.computeCycles = compute;
  c.memoryCycles = memory;
  c.moveCycles = move;
  c.callCycles = call;
  c.totalCycles = compute + memory + move + call;
  return c;
}

// Plans of `problems` problems whose true time weighs memory three times as much as the model does.
std::vector<FitPoint> memoryIsDearer(int problems, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> any(0.1, 1);
  std::vector<FitPoint> points;
  for (int problem = 0; problem < problems; ++problem) {
    for (int plan = 0; plan < 12; ++plan) {
      const double a = any(random), b = any(random), c = any(random), d = any(random);
      points.push_back({costOf(a, b, c, d), "direct", (a + 3 * b + c + d) * (problem + 1), problem});
    }
  }
  return points;
}

TEST(CostFit, NoMeasurementsLeaveTheModelAsItIs) {
  const PlanCost cost = costOf(1, 2, 3, 4);
  EXPECT_NEAR(FittedCost().predict(cost, "spatial"), cost.totalCycles, 1e-9);
  EXPECT_NEAR(FittedCost::fit({}).predict(cost, "spatial"), cost.totalCycles, 1e-9);
}

TEST(CostFit, LearnsWhichTermIsDearer) {
  const std::vector<FitPoint> points = memoryIsDearer(6, 1);
  const FittedCost fitted = FittedCost::fit(points, 0.1);
  const auto weights = fitted.weights("direct");
  EXPECT_GT(weights[1], 1.5 * weights[0]);
  EXPECT_GT(weights[1], 1.5 * weights[2]);
  EXPECT_GT(rankModel(fitted, points).spearman, rankModel(FittedCost(), points).spearman + 0.05);
  EXPECT_LE(rankModel(fitted, points).regret, rankModel(FittedCost(), points).regret);
}

TEST(CostFit, WhatIsLearntHoldsForProblemsNotSeen) {
  const std::vector<FitPoint> points = memoryIsDearer(8, 2);
  EXPECT_GT(crossValidated(points).spearman, rankModel(FittedCost(), points).spearman + 0.05);
}

TEST(CostFit, MoreMeasurementsMakeItBetter) {
  const std::vector<FitPoint> all = memoryIsDearer(12, 3), rest(all.begin() + 8 * 12, all.end());
  const auto learnt = [&](int problems) {
    return rankModel(FittedCost::fit({all.begin(), all.begin() + problems * 12}), rest).spearman;
  };
  EXPECT_LT(learnt(0), learnt(1));
  EXPECT_LT(learnt(1), learnt(8) + 1e-9);
}

// Where measurements say nothing about the terms, a refit must not make ranks worse: the model is held on to.
TEST(CostFit, NoiseDoesNotSpoilAGoodModel) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> any(0.1, 1);
  std::normal_distribution<double> noise(0, 0.15);
  std::vector<FitPoint> points;
  for (int i = 0; i < 60; ++i) {
    const PlanCost cost = costOf(any(random), any(random), any(random), any(random));
    points.push_back({cost, "direct", cost.totalCycles * std::exp(noise(random)), i / 5});
  }
  const double prior = FittedCost::choosePrior(points);
  EXPECT_GE(crossValidated(points, prior).spearman, crossValidated(points, 0.5).spearman);
  EXPECT_GE(crossValidated(points, prior).spearman, rankModel(FittedCost(), points).spearman - 1e-9);
  EXPECT_EQ(FittedCost::choosePrior({}), FittedCost::kUsualPrior);
  EXPECT_LT(FittedCost::choosePrior(memoryIsDearer(8, 5)), 10) << "where there is something to learn, it is learnt";
}

TEST(CostFit, ARoleWithoutMeasurementsIsNotTouched) {
  const FittedCost fitted = FittedCost::fit(memoryIsDearer(4, 4));
  const PlanCost cost = costOf(1, 2, 3, 4);
  EXPECT_NEAR(fitted.predict(cost, "grouped"), cost.totalCycles, 1e-9);
}

TEST(CostFit, WeightsStayPositive) {
  std::vector<FitPoint> points;
  for (int i = 1; i < 30; ++i) points.push_back({costOf(1, i, 0, 0), "direct", 100.0 / i, 0});
  for (const double weight : FittedCost::fit(points).weights("direct")) EXPECT_GT(weight, 0);
}

TEST(CostFit, Ranks) {
  const RankQuality same = rankQuality({1, 2, 3, 4}, {10, 20, 30, 40}),
                    opposite = rankQuality({4, 3, 2, 1}, {10, 20, 30, 40});
  EXPECT_DOUBLE_EQ(same.spearman, 1);
  EXPECT_DOUBLE_EQ(same.kendall, 1);
  EXPECT_DOUBLE_EQ(same.regret, 0);
  EXPECT_DOUBLE_EQ(opposite.spearman, -1);
  EXPECT_DOUBLE_EQ(opposite.kendall, -1);
  EXPECT_DOUBLE_EQ(opposite.regret, 3);
  // One neighbouring pair exchanged: rho = 1 - 6*2/(4*15), tau = (5 - 1)/6.
  const RankQuality swapped = rankQuality({1, 2, 4, 3}, {10, 20, 30, 40});
  EXPECT_NEAR(swapped.spearman, 0.8, 1e-12);
  EXPECT_NEAR(swapped.kendall, 4.0 / 6, 1e-12);
  EXPECT_EQ(rankQuality({1, 1, 1}, {3, 2, 1}).spearman, 0);  // no opinion
  EXPECT_EQ(rankQuality({}, {}).plans, 0);
}

}  // namespace
}  // namespace cubejit
