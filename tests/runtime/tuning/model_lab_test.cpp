// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does tuning for an emulated NPU answer with modelled cycles, find what is cheaper, and believe only right results?
#include "runtime/tuning/model_lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit/machines/toy.h"
#include "runtime/tuning/autotune.h"
#include "runtime/tuning/fingerprint.h"
#include "tests/support/tuning_cases.h"
#include "tiling/legal_plans.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

Problem cubeProblem() {
  Problem p = smallConvolution(32);
  p.dtype = DType::kF16;
  return p;
}

LabTask taskOf(Pass pass) {
  LabTask task;
  task.problem = cubeProblem();
  task.pass = pass;
  return task;
}

TEST(ModelLab, AnswersWithTheCostModel) {
  const Machine toy = toyMachine();
  const auto plans = legalPlans(cubeProblem(), Pass::kDx, toy).value();
  ModelLab lab(taskOf(Pass::kDx), toy);
  ASSERT_TRUE(lab.load(0, plans.front().plan).ok());
  ASSERT_TRUE(lab.load(1, plans.back().plan).ok());
  const LabReply times = lab.sample({0, 1}, 3);
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times.samplesNs[0].size(), 3U);
  EXPECT_EQ(times.samplesNs[0][0], times.samplesNs[0][2]);
  EXPECT_NEAR(static_cast<double>(times.samplesNs[1][0]) / static_cast<double>(times.samplesNs[0][0]),
              plans.back().cost.totalCycles / plans.front().cost.totalCycles, 0.05);
  EXPECT_TRUE(lab.verify(1).ok()) << lab.verify(1).message;
  lab.drop(1);
  EXPECT_EQ(lab.sample({1}, 1).status, TrialStatus::kFailed);
}

TEST(ModelLab, RefusesWhatTheChipCannotRun) {
  ModelLab lab(taskOf(Pass::kDw), toyMachine());
  TilingPlan plan = legalPlans(cubeProblem(), Pass::kDw, toyMachine()).value().front().plan;
  plan.cube().tile.base.m *= 64;
  const LabReply reply = lab.load(0, plan);
  EXPECT_EQ(reply.status, TrialStatus::kRefused);
  EXPECT_THAT(reply.message, HasSubstr("needs"));
}

// From the worst of the planner's candidates, the search must get at least to the best of them.
TEST(ModelLab, TheSearchMinimisesModelledCycles) {
  const Machine toy = toyMachine();
  for (const StrategyKind strategy : {StrategyKind::kModel, StrategyKind::kEvolve, StrategyKind::kExhaustive}) {
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kY}) {
      ModelLab lab(taskOf(pass), toy);
      TuneSetup setup;
      setup.key = {cubeProblem(), pass, machineFingerprint(toy), "model", 1};
      setup.machine = toy;
      setup.strategy = strategy;
      setup.rules = ModelLab::rules();
      setup.mostTrials = 60;
      std::vector<TuneRecord> records;
      TuneWatch watch;
      watch.keep = [&](const TuneRecord& r) { records.push_back(r); };
      const auto outcome = autotune(setup, lab, watch);
      ASSERT_TRUE(outcome.ok()) << outcome.error().message;
      EXPECT_TRUE(outcome->best.verified);
      EXPECT_GT(outcome->tried, 20);
      double cheapest = outcome->untuned.cost.totalCycles;
      for (const TuneRecord& r : records) {
        EXPECT_TRUE(checkPlan(cubeProblem(), r.plan, toy).empty());
        if (r.status == TrialStatus::kMeasured) cheapest = std::min(cheapest, r.cost.totalCycles);
      }
      EXPECT_LE(outcome->best.cost.totalCycles, cheapest * 1.001) << toString(strategy);
      EXPECT_NEAR(outcome->model.regret, 0, 1e-3) << "what is measured is the model";
    }
  }
}

}  // namespace
}  // namespace cubejit
