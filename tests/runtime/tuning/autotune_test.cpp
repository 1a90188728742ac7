// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a search find what is faster, keep every trial, survive what plans may do, and never claim what it cannot repeat?
#include "runtime/tuning/autotune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/tuning/json_record.h"
#include "tests/support/fake_lab.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

class Autotune : public ::testing::Test {
 protected:
  Autotune() {
    setup_.key = keyFor(smallConvolution(32));
    setup_.machine = hostOf(IsaLevel::kAvx512);
    setup_.key.machine = machineFingerprint(setup_.machine);
    setup_.mostTrials = 40;
    setup_.version = "test";
    setup_.run = "run";
    watch_.keep = [this](const TuneRecord& record) { kept_.push_back(record); };
    untunedPlan_ = choosePlan(setup_.key.problem, setup_.key.pass, setup_.machine, false).value().plan;
    untuned_ = planIdentity(untunedPlan_);
  }
  // What a store would have of each plan.
  std::map<std::string, TuneRecord> last() const {
    std::map<std::string, TuneRecord> last;
    for (const TuneRecord& record : kept_) last[planIdentity(record.plan)] = record;
    return last;
  }
  std::int64_t winners() const {
    const auto records = last();
    return std::count_if(records.begin(), records.end(),
                         [](const auto& entry) { return entry.second.won && !entry.second.untuned; });
  }
  TuneSetup setup_;
  TuneWatch watch_;
  FakeLab lab_;
  std::vector<TuneRecord> kept_;
  TilingPlan untunedPlan_;
  std::string untuned_;
};

TEST_F(Autotune, FindsAFasterPlanAndConfirmsIt) {
  lab_.time = [](const TilingPlan& plan) { return 1e6 * (fieldOf(plan, "register_vectors") == 1 ? 0.7 : 1.0); };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome.value().confirmed);
  EXPECT_EQ(fieldOf(outcome.value().best.plan, "register_vectors"), 1);
  EXPECT_NEAR(outcome.value().best.relative, 0.7, 0.03);
  EXPECT_TRUE(outcome.value().best.won && outcome.value().best.verified);
  EXPECT_EQ(outcome.value().tried, 40);
}

TEST_F(Autotune, KeepsTheModelsPlanWhenNothingIsFaster) {
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome.value().best.untuned);
  EXPECT_EQ(planIdentity(outcome.value().best.plan), untuned_);
  EXPECT_EQ(outcome.value().best.relative, 1);
}

TEST_F(Autotune, OtherProblemsOfTheSameKindCorrectTheModel) {
  const TuneKey mine = setup_.key;
  TuneKey otherProblem = mine, otherMachine = mine, otherPass = mine;
  otherProblem.problem = otherMachine.problem = otherPass.problem = smallConvolution(16);
  otherMachine.machine = "emulated/toy/0/fast/" + mine.machine;
  otherPass.pass = Pass::kDw;
  const std::vector<TuneRecord> records{winnerFor(mine, 0.5), winnerFor(otherProblem, 0.6),
                                        winnerFor(otherMachine, 0.7), winnerFor(otherPass, 0.8)};
  const std::vector<FitPoint> points = pointsOfOthers(records, mine);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points.front().time, 0.6);
}

TEST_F(Autotune, EveryTrialIsKeptOnceWithItsSamples) {
  ASSERT_TRUE(autotune(setup_, lab_, watch_).ok());
  std::set<std::string> plans;
  for (const TuneRecord& record : kept_) {
    EXPECT_TRUE(plans.insert(planIdentity(record.plan)).second);
    if (record.status == TrialStatus::kMeasured) {
      EXPECT_FALSE(record.samplesNs.empty());
    }
    EXPECT_EQ(record.run, "run");
    EXPECT_GT(record.cost.totalCycles, 0);
  }
  EXPECT_EQ(plans.size(), 41U);  // and the untuned plan
  EXPECT_TRUE(kept_.front().untuned);
}

TEST_F(Autotune, AFastButWrongPlanNeverWins) {
  lab_.time = [&](const TilingPlan& plan) { return planIdentity(plan) == untuned_ ? 1e6 : 5e5; };
  lab_.fate = [&](const TilingPlan& plan) {
    return planIdentity(plan) == untuned_ ? TrialStatus::kMeasured : TrialStatus::kWrong;
  };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome.value().best.untuned);
  EXPECT_GT(outcome.value().byStatus[static_cast<int>(TrialStatus::kWrong)], 0);
  for (const TuneRecord& record : kept_) EXPECT_TRUE(record.untuned || !record.won);
}

TEST_F(Autotune, PlansThatCrashHangOrAreRefusedAreRecordedAndAvoided) {
  lab_.fate = [&](const TilingPlan& plan) {
    if (planIdentity(plan) == untuned_) return TrialStatus::kMeasured;
    if (fieldOf(plan, "register_vectors") == 1) return TrialStatus::kCrashed;
    if (fieldOf(plan, "register_w") % 2 == 0) return TrialStatus::kTimedOut;
    return fieldOf(plan, "cache_h") % 4 == 0 ? TrialStatus::kRefused : TrialStatus::kMeasured;
  };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_GT(outcome.value().byStatus[static_cast<int>(TrialStatus::kCrashed)], 0);
  EXPECT_GT(outcome.value().byStatus[static_cast<int>(TrialStatus::kTimedOut)], 0);
  for (const TuneRecord& record : kept_) {
    if (record.status != TrialStatus::kMeasured) {
      EXPECT_EQ(record.message, "injected");
    }
  }
  setup_.known = kept_;
  kept_.clear();
  ASSERT_TRUE(autotune(setup_, lab_, watch_).ok());
  for (const TuneRecord& again : kept_) {
    for (const TuneRecord& known : setup_.known) EXPECT_NE(planIdentity(again.plan), planIdentity(known.plan));
  }
}

TEST_F(Autotune, ABrokenLabEndsTheSearch) {
  lab_.fate = [&](const TilingPlan& plan) {
    return planIdentity(plan) == untuned_ ? TrialStatus::kMeasured : TrialStatus::kFailed;
  };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kLimitExceeded);
}

TEST_F(Autotune, AWrongUntunedPlanIsABug) {
  lab_.fate = [](const TilingPlan&) { return TrialStatus::kWrong; };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kInternal);
  ASSERT_EQ(kept_.size(), 1U);
  EXPECT_EQ(kept_.front().status, TrialStatus::kWrong);
}

TEST_F(Autotune, PlansOfTheSameCodeAreNotTimedTwice) {
  lab_.codeOf = [](const TilingPlan& plan) { return std::to_string(fieldOf(plan, "register_vectors")); };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_LE(lab_.sampledPlans.size(), 4U);
  EXPECT_GT(outcome.value().byStatus[static_cast<int>(TrialStatus::kDuplicate)], 30);
}

TEST_F(Autotune, PlansOfOtherBitsAreRefusedWhereBitsAreKept) {
  lab_.time = [](const TilingPlan& plan) { return 1e6 * (fieldOf(plan, "register_vectors") == 1 ? 0.8 : 1.0); };
  const std::int64_t unrolled = fieldOf(untunedPlan_, "unroll");
  lab_.bitsOf = [](const TilingPlan& plan) { return std::to_string(fieldOf(plan, "unroll")); };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  int refused = 0;
  for (const TuneRecord& record : kept_) {
    const bool same = fieldOf(record.plan, "unroll") == unrolled;
    EXPECT_EQ(record.status == TrialStatus::kRefused, !same) << record.message;
    refused += same ? 0 : 1;
  }
  EXPECT_GT(refused, 5);
  EXPECT_EQ(fieldOf(outcome.value().best.plan, "unroll"), unrolled);
}

TEST_F(Autotune, WhatWinsByLuckIsWithdrawn) {
  // Challengers look faster while the search goes on, and are not when it ends.
  bool late = false;
  lab_.time = [&](const TilingPlan& plan) { return planIdentity(plan) == untuned_ ? 1e6 : late ? 1.02e6 : 0.9e6; };
  watch_.progress = [&](const TuneProgress& now) { late = now.trial >= 40; };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome.value().confirmed);
  EXPECT_TRUE(outcome.value().best.untuned);
  EXPECT_EQ(winners(), 0);
}

TEST_F(Autotune, SpikesAreDiscardedAndDoNotDecide) {
  lab_.spikeEvery = 9;
  lab_.time = [](const TilingPlan& plan) { return 1e6 * (fieldOf(plan, "register_vectors") == 1 ? 0.8 : 1.0); };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_GT(outcome.value().discarded, 0);
  EXPECT_NEAR(outcome.value().best.relative, 0.8, 0.05);
}

TEST_F(Autotune, AMachineThatBecomesSlowerForGoodDoesNotStopTheSearch) {
  watch_.progress = [&](const TuneProgress& now) { lab_.slowdown = now.trial > 3 ? 2.0 : 1.0; };
  lab_.time = [](const TilingPlan& plan) { return 1e6 * (fieldOf(plan, "register_vectors") == 1 ? 0.8 : 1.0); };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().tried, 40);
  EXPECT_NEAR(outcome.value().best.relative, 0.8, 0.05);
}

TEST_F(Autotune, StopsWhenAsked) {
  int asked = 0;
  watch_.stop = [&] { return ++asked > 20; };
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome.value().interrupted);
  EXPECT_LT(outcome.value().tried, 40);
  EXPECT_EQ(static_cast<int>(kept_.size()), outcome.value().tried + 1);
}

// Stopped at every question whether to stop: what was not confirmed is no winner, at no time; going on settles it.
TEST_F(Autotune, WhatAnInterruptedRunDidNotConfirmIsNotUsed) {
  setup_.mostTrials = 16;
  const bool fasterForGood[] = {true, false};
  for (const bool good : fasterForGood) {
    bool late = false;
    lab_.time = [&](const TilingPlan& plan) {
      const bool fast = fieldOf(plan, "register_vectors") == 1 && planIdentity(plan) != untuned_;
      return 1e6 * (!fast ? 1.0 : good || !late ? 0.7 : 1.02);
    };
    watch_.progress = [&](const TuneProgress& now) { late = now.trial >= 16; };
    int interruptions = 0;
    bool complete = false;
    for (int most = 0; !complete; ++most) {
      int asked = 0;
      late = false;
      kept_.clear();
      setup_.known.clear();
      setup_.run = "run";
      watch_.stop = [&] { return ++asked > most; };
      const auto outcome = autotune(setup_, lab_, watch_);
      ASSERT_TRUE(outcome.ok());
      complete = !outcome.value().interrupted;
      EXPECT_EQ(outcome.value().best.untuned, !outcome.value().confirmed);
      EXPECT_EQ(winners(), outcome.value().confirmed ? 1 : 0) << "stopped at question " << most;
      EXPECT_EQ(outcome.value().confirmed, complete && good);
      interruptions += complete ? 0 : 1;

      setup_.known = kept_;
      setup_.run = "second";
      watch_.stop = nullptr;
      const auto resumed = autotune(setup_, lab_, watch_);
      ASSERT_TRUE(resumed.ok());
      EXPECT_EQ(resumed.value().confirmed, good) << "stopped at question " << most;
      EXPECT_EQ(winners(), good ? 1 : 0) << "stopped at question " << most;
    }
    EXPECT_GT(interruptions, 16);
  }
}

TEST_F(Autotune, ALaterRunWithdrawsOrReplacesWinnersThatNobodyConfirms) {
  for (const bool otherIsFaster : {false, true}) {
    kept_.clear();
    TuneRecord lucky = winnerFor(setup_.key, 0.5, "earlier");
    setField(lucky.plan, "unroll", fieldOf(lucky.plan, "unroll") == 1 ? 2 : 1);
    setup_.known = {lucky};
    lab_.time = [&](const TilingPlan& plan) {
      const bool other = planIdentity(plan) != untuned_ && planIdentity(plan) != planIdentity(lucky.plan);
      return 1e6 * (otherIsFaster && other ? 0.7 : 1.0);
    };
    int asked = 0;
    watch_.stop = [&] { return ++asked > 3; };
    ASSERT_TRUE(autotune(setup_, lab_, watch_).ok());
    EXPECT_EQ(winners(), 0);  // an interrupted run says nothing of it

    kept_ = {lucky};
    watch_.stop = nullptr;
    const auto outcome = autotune(setup_, lab_, watch_);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.value().confirmed, otherIsFaster);
    EXPECT_EQ(winners(), otherIsFaster ? 1 : 0);
    const TuneRecord now = last().at(planIdentity(lucky.plan));
    EXPECT_FALSE(now.won);
    EXPECT_EQ(now.run, "earlier");  // so that it takes the place of the record there was
    EXPECT_FALSE(now.message.empty());
  }
}

TEST_F(Autotune, AResumedRunMeasuresNothingTwice) {
  lab_.time = [](const TilingPlan& plan) { return 1e6 * (fieldOf(plan, "register_vectors") == 1 ? 0.7 : 1.0); };
  const auto first = autotune(setup_, lab_, watch_);
  setup_.known = kept_;
  setup_.run = "second";
  const std::vector<TuneRecord> before = kept_;
  kept_.clear();
  const auto second = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().adopted, 41);
  std::set<std::string> known;
  for (const TuneRecord& record : before) known.insert(planIdentity(record.plan));
  for (const TuneRecord& record : kept_) {
    const bool confirmation = planIdentity(record.plan) == planIdentity(first.value().best.plan);
    EXPECT_TRUE(confirmation || known.count(planIdentity(record.plan)) == 0);
  }
  EXPECT_NEAR(second.value().best.relative, 0.7, 0.03);
}

TEST_F(Autotune, AForeignRecordIsVerifiedBeforeItIsBelieved) {
  TuneRecord foreign = winnerFor(setup_.key, 0.5, "other");
  setField(foreign.plan, "unroll", fieldOf(foreign.plan, "unroll") == 1 ? 2 : 1);
  const std::string identity = planIdentity(foreign.plan);
  lab_.fate = [&](const TilingPlan& plan) {
    return planIdentity(plan) == identity ? TrialStatus::kWrong : TrialStatus::kMeasured;
  };
  setup_.known = {foreign};
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NE(planIdentity(outcome.value().best.plan), identity);
}

TEST_F(Autotune, IllegalPlansOfRecordsAreIgnored) {
  TuneRecord broken = winnerFor(setup_.key, 0.5, "other");
  ASSERT_TRUE(setField(broken.plan, "register_vectors", 1000));
  setup_.known = {broken};
  const auto outcome = autotune(setup_, lab_, watch_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().adopted, 0);
}

TEST_F(Autotune, PointsToFitAreGroupedByKey) {
  const TuneKey other = keyFor(smallConvolution(64));
  const auto points = fitPoints({winnerFor(setup_.key, 1), winnerFor(setup_.key, 0.9), winnerFor(other, 1)});
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].problem, points[1].problem);
  EXPECT_NE(points[0].problem, points[2].problem);
}

}  // namespace
}  // namespace cubejit
