// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are differences decided that are there, are races ended that are not, and is a disturbed machine noticed?
#include "runtime/tuning/race.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/tuning/record.h"

namespace cubejit {
namespace {

TEST(Race, MedianAndIntervalOfPairedRatios) {
  const Ratio r = ratioOf({100, 100, 100, 100, 100}, {90, 80, 100, 95, 85});
  EXPECT_DOUBLE_EQ(r.median, 0.9);
  EXPECT_DOUBLE_EQ(r.low, 0.8);
  EXPECT_DOUBLE_EQ(r.high, 1.0);
  EXPECT_EQ(r.pairs, 5);
}

TEST(Race, ManyPairsNarrowTheInterval) {
  std::vector<std::int64_t> a(40, 1000), b;
  for (int i = 0; i < 40; ++i) b.push_back(900 + i);
  const Ratio r = ratioOf(a, b);
  EXPECT_GT(r.low, 0.9);
  EXPECT_LT(r.high, 0.939);
}

TEST(Race, PairingCancelsWhatSlowsBothDown) {
  const std::vector<std::int64_t> incumbent{1000, 5000, 1000, 3000, 1000, 9000, 1000};
  std::vector<std::int64_t> challenger;
  for (const std::int64_t ns : incumbent) challenger.push_back(ns * 95 / 100);
  EXPECT_EQ(judge(ratioOf(incumbent, challenger), RaceRules{}), RaceVerdict::kFaster);
}

TEST(Race, FewPairsDecideNothingUnlessHopeless) {
  EXPECT_EQ(judge(ratioOf({100, 100}, {50, 50}), RaceRules{}), RaceVerdict::kOpen);
  EXPECT_EQ(judge(ratioOf({100, 100, 100}, {50, 50, 50}), RaceRules{}), RaceVerdict::kOpen);
  EXPECT_EQ(judge(ratioOf({100, 100, 100}, {150, 140, 160}), RaceRules{}), RaceVerdict::kNotFaster);
}

TEST(Race, EveryRaceEnds) {
  const RaceRules rules;
  std::vector<std::int64_t> a, b;
  for (int i = 0; i < rules.mostPairs; ++i) {
    a.push_back(1000);
    b.push_back(i % 2 == 0 ? 500 : 1500);
  }
  EXPECT_EQ(judge(ratioOf(a, b), rules), RaceVerdict::kNotFaster);
}

// Of equal plans under noise next to none may win; of plans 5 % faster most must.
TEST(Race, RightMostOfTheTimeUnderNoise) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.02);
  const auto winsOf = [&](double speed) {
    int wins = 0;
    for (int race = 0; race < 200; ++race) {
      std::vector<std::int64_t> a, b;
      RaceVerdict verdict = RaceVerdict::kOpen;
      while (verdict == RaceVerdict::kOpen) {
        a.push_back(static_cast<std::int64_t>(1e6 * std::exp(noise(random))));
        b.push_back(static_cast<std::int64_t>(1e6 * speed * std::exp(noise(random))));
        verdict = judge(ratioOf(a, b), RaceRules{});
      }
      wins += verdict == RaceVerdict::kFaster ? 1 : 0;
    }
    return wins;
  };
  EXPECT_LT(winsOf(1.0), 20);
  EXPECT_GT(winsOf(0.95), 160);
}

TEST(Race, ConfirmationGoesOnUntilDecided) {
  const RaceRules rules;
  EXPECT_EQ(judgeConfirmation(ratioOf({100, 100, 100}, {90, 90, 90}), rules), RaceVerdict::kOpen);
  const std::vector<std::int64_t> a(30, 1000), faster(30, 990), slower(30, 1001);
  EXPECT_EQ(judgeConfirmation(ratioOf(a, faster), rules), RaceVerdict::kFaster);
  EXPECT_EQ(judgeConfirmation(ratioOf(a, slower), rules), RaceVerdict::kNotFaster);
  std::vector<std::int64_t> even(static_cast<std::size_t>(3 * rules.mostPairs), 1000), around;
  for (std::size_t i = 0; i < even.size(); ++i) around.push_back(i % 2 == 0 ? 998 : 1002);
  EXPECT_EQ(judgeConfirmation(ratioOf(even, around), rules), RaceVerdict::kNotFaster);
}

TEST(Race, DisturbancesAreNoticed) {
  const RaceRules rules;
  EXPECT_FALSE(disturbed({1000, 1010, 1020, 990, 1005}, 1000, rules));
  EXPECT_TRUE(disturbed({1000, 1010, 2500, 990, 2600}, 1000, rules));  // restless
  EXPECT_TRUE(disturbed({1500, 1510, 1505}, 1000, rules));             // all slower than ever: the machine drifted
  EXPECT_FALSE(disturbed({1500, 1510, 1505}, 0, rules));
}

TEST(Race, MedianOfNothingIsZero) {
  EXPECT_EQ(medianNs({}), 0);
  EXPECT_EQ(medianNs({3, 1, 2}), 2);
  EXPECT_EQ(spreadOf({5}), 0);
}

}  // namespace
}  // namespace cubejit
