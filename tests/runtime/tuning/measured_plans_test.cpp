// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that what `plan --explain` runs stands for all candidates, and what it makes of the times.
#include "runtime/tuning/measured_plans.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/json_record.h"

namespace cubejit {
namespace {

using Decision = std::tuple<std::string, std::string, std::int64_t>;

std::set<Decision> decisionsOf(const TilingPlan& plan) {
  std::set<Decision> decisions;
  describePlan(plan, [&](const char* name, const auto& field) {
    decisions.emplace(algorithmName(plan), name, static_cast<std::int64_t>(field));
  });
  return decisions;
}

TEST(MeasuredPlans, ACandidateIsRunForEachValueOfEachDecision) {
  Problem p;
  p.rank = 2;
  p.cin = 20, p.cout = 3;
  p.in = p.out = Dhw{1, 12, 12};
  p.kernel = Dhw{1, 3, 3};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  const Session session;
  const auto report = session.plan(p, Pass::kDx, true);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const MeasuredPlans measured =
      measurePlans(session.options(), session.machine(), p, report->plan, report->candidates);
  ASSERT_TRUE(measured.chosen) << measured.whyNot;
  ASSERT_EQ(measured.candidates.size(), report->candidates.size());
  std::set<Decision> legal, run;
  std::size_t count = 0;
  for (std::size_t i = 0; i < report->candidates.size(); ++i) {
    const PlanCandidate& candidate = report->candidates[i];
    if (!candidate.refusedBy.empty()) {
      EXPECT_FALSE(measured.candidates[i]);
      continue;
    }
    legal.merge(decisionsOf(candidate.plan));
    if (!measured.candidates[i]) continue;
    EXPECT_EQ(measured.candidates[i]->multiplying > 0,
              i == *measured.fastest() || planIdentity(candidate.plan) == planIdentity(report->plan))
        << "clocks of calls decide no race";
    ++count;
    run.merge(decisionsOf(candidate.plan));
  }
  EXPECT_EQ(run, legal);
  EXPECT_LT(count, report->candidates.size());
}

TEST(MeasuredPlans, RegretIsOfTheFastestThatWasRun) {
  MeasuredPlans measured;
  EXPECT_FALSE(measured.fastest());
  EXPECT_EQ(measured.regret(), 0);
  measured.candidates = {MeasuredPlan{150}, std::nullopt, MeasuredPlan{100}};
  EXPECT_EQ(measured.fastest(), 2U);
  EXPECT_EQ(measured.regret(), 0) << "the choice was not run";
  measured.chosen = MeasuredPlan{150};
  EXPECT_DOUBLE_EQ(measured.regret(), 0.5);
  measured.chosen = MeasuredPlan{90};
  EXPECT_EQ(measured.regret(), 0);
}

}  // namespace
}  // namespace cubejit
