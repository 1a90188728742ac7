// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do strategies see only what was recorded, and are they judged by it?
#include "runtime/tuning/replay.h"

#include <gtest/gtest.h>

#include "runtime/tuning/search_space.h"
#include "tests/support/host.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

// Records of the first `plans` plans of one problem: the last of them takes half the time of the others.
std::vector<TuneRecord> recordsOf(std::size_t plans, const Machine& host) {
  const Problem problem = smallConvolution(32);
  const SearchSpace space = SearchSpace::of(problem, Pass::kDw, host).value();
  std::vector<TuneRecord> records;
  for (std::size_t i = 0; i < plans; ++i) {
    TuneRecord r;
    r.key.problem = problem, r.key.pass = Pass::kDw, r.key.threads = 2;
    r.plan = space.enumerated()[i].plan, r.cost = space.enumerated()[i].cost;
    r.status = TrialStatus::kMeasured, r.relative = i + 1 == plans ? 0.5 : 1.0;
    records.push_back(r);
  }
  return records;
}

TEST(Replay, EveryStrategyFindsTheBestRecordedPlan) {
  const Machine host = hostOf(IsaLevel::kAvx512);
  const Replays replays = replayStrategies(recordsOf(12, host), host);
  EXPECT_EQ(replays.problems, 1U);
  ASSERT_EQ(replays.strategies.size(), 4U);
  for (const Replays::Strategy& s : replays.strategies) {
    SCOPED_TRACE(toString(s.kind));
    EXPECT_GE(s.regret[0], 0);
    EXPECT_LE(s.regret[0], 1 + 1e-9);        // the others take twice the time
    EXPECT_NEAR(s.regret.back(), 0, 1e-12);  // after 40 trials all twelve are known
    EXPECT_GE(s.trialsToClose, 1);
    EXPECT_LE(s.trialsToClose, 12);
  }
  const auto exhaustive = replays.strategies.back();
  EXPECT_EQ(exhaustive.kind, StrategyKind::kExhaustive);
}

TEST(Replay, ProblemsOfFewPlansAreNotReplayed) {
  const Machine host = hostOf(IsaLevel::kAvx512);
  EXPECT_EQ(replayStrategies(recordsOf(kFewestReplayed - 1, host), host).problems, 0U);
  EXPECT_EQ(replayStrategies(recordsOf(kFewestReplayed, host), host).problems, 1U);
  auto failed = recordsOf(kFewestReplayed, host);
  failed.front().status = TrialStatus::kWrong;
  EXPECT_EQ(replayStrategies(failed, host).problems, 0U);
}

}  // namespace
}  // namespace cubejit
