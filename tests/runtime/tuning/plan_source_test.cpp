// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a session use what was measured, say so, refuse what is not legal, and stay on the plans that are pinned?
#include "runtime/tuning/plan_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "cubejit/machines/toy.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/pins.h"
#include "runtime/tuning/search_space.h"
#include "runtime/tuning/store.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/cases.h"
#include "tests/support/held_store.h"
#include "tests/support/plan_fields.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

class PlanSources : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
    options_.tune = TuneMode::kUse;
    options_.threads = 2;
    options_.store = folder_.file("user.db");
    options_.systemStore = folder_.file("system.db");
    std::mt19937_64 random(1);
    other_ = SearchSpace::of(problem_, Pass::kDx, planMachine()).value().enumerated().back().plan;
  }
  // A winner with the most expensive plan there is: nobody would choose it without the record.
  TuneRecord winner(double relative, const std::string& run) const {
    TuneRecord record = winnerFor(keyFor(problem_), relative, run);
    record.plan = other_;
    return record;
  }
  static void store(const std::string& path, const TuneRecord& record) {
    ASSERT_TRUE(TuningStore::open(path, StoreAccess::kReadWrite, nullptr).value()->add(record).ok());
  }
  PlanReport report() const {
    const auto planned = Session(options_).plan(problem_, Pass::kDx);
    EXPECT_TRUE(planned.ok()) << (planned.ok() ? "" : planned.error().message);
    return planned.ok() ? planned.value() : PlanReport{};
  }
  ScratchFolder folder_{"source"};
  const Problem problem_ = smallConvolution(32);
  Options options_;
  TilingPlan other_;
};

TEST_F(PlanSources, TheModelChoosesWhereNothingIsKnown) {
  EXPECT_EQ(report().source, PlanSource::kModel);
  EXPECT_FALSE(std::filesystem::exists(options_.store)) << "looking creates no file";
}

TEST_F(PlanSources, ARecordIsUsedSaidAndRight) {
  store(options_.store, winner(0.5, "a"));
  const PlanReport planned = report();
  EXPECT_EQ(planned.source, PlanSource::kRecord);
  EXPECT_THAT(planned.sourceNote, HasSubstr("2.00x"));
  EXPECT_EQ(planIdentity(planned.plan), planIdentity(other_));
  Session session(options_);
  const auto compiled = session.compile(problem_, {true, true, false});
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(compiled.value()->planSource(Pass::kDx), PlanSource::kRecord);
  EXPECT_EQ(compiled.value()->planSource(Pass::kDw), PlanSource::kModel);
  VerifyRequest request;
  request.problem = problem_;
  request.passes = {true, false, false};
  request.threads = {1, 2, 3};
  EXPECT_EQ(verifyProblem(session, request).verdict, VerifyOutcome::Verdict::kPassed);
}

TEST_F(PlanSources, OffLooksAtNothing) {
  store(options_.store, winner(0.5, "a"));
  options_.tune = TuneMode::kOff;
  EXPECT_EQ(report().source, PlanSource::kModel);
}

TEST_F(PlanSources, TheUsersStoreComesBeforeTheSystems) {
  store(options_.systemStore, winner(0.4, "system"));
  EXPECT_THAT(report().sourceNote, HasSubstr("run system"));
  store(options_.store, winner(0.6, "user"));
  EXPECT_THAT(report().sourceNote, HasSubstr("run user"));
}

TEST_F(PlanSources, RecordsOfAnotherMachineAreNotUsedAndSaid) {
  TuneRecord record = winner(0.5, "a");
  record.key.machine = "GenuineIntel-6-143-8/avx512/56x/48K-2048K-107520K";
  store(options_.store, record);
  EXPECT_EQ(report().source, PlanSource::kModel);
  EXPECT_THAT(report().sourceNote, HasSubstr("1 winners of other machines"));
}

// Where the component is missing, the best of the other records is taken; a pin's plan gives the same bits by any backend.
TEST_F(PlanSources, APlanThatWantsLlvmIsUsedWhereTheComponentIs) {
  TuneRecord llvm = winner(0.4, "llvm");
  llvm.plan.backend = PlanBackend::kLlvm;
  store(options_.store, llvm);
  store(options_.store, winner(0.7, "xbyak"));
  options_.llvmComponent = "/nowhere/libcubejit_llvm.so";
  PlanReport planned = report();
  EXPECT_EQ(planned.source, PlanSource::kRecord);
  EXPECT_EQ(planned.plan.backend, PlanBackend::kSession);
  EXPECT_THAT(planned.sourceNote, testing::AllOf(HasSubstr("run xbyak"), HasSubstr("component is not here")));
  EXPECT_TRUE(Session(options_).compile(problem_, {true, false, false}).ok());
  options_.pins = folder_.file("pins.jsonl");
  ASSERT_TRUE(addPin(options_.pins, problem_, llvm.plan, toString(planMachine().isa.level)).ok());
  planned = report();
  EXPECT_EQ(planned.source, PlanSource::kPin);
  EXPECT_EQ(planned.plan.backend, PlanBackend::kSession);
  options_.llvmComponent.clear();
  if (!llvmComponent("").ok()) GTEST_SKIP() << "built without LLVM";
  EXPECT_EQ(report().plan.backend, PlanBackend::kLlvm);
  options_.pins.clear();
  EXPECT_THAT(report().sourceNote, HasSubstr("run llvm"));
  const auto compiled = Session(options_).compile(problem_, {true, false, false});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ(static_cast<char>(compiled.value()->kernels().front().bytes[1]), 'E') << "an ELF object";
}

TEST_F(PlanSources, AnIllegalPlanInAStoreIsNotUsed) {
  TuneRecord record = winner(0.5, "a");
  ASSERT_TRUE(setField(record.plan, "register_vectors", 400));
  store(options_.store, record);
  EXPECT_EQ(report().source, PlanSource::kModel);
  EXPECT_THAT(report().sourceNote, HasSubstr("not legal here"));
  EXPECT_TRUE(Session(options_).compile(problem_, {true, false, false}).ok());
}

TEST_F(PlanSources, ADamagedStoreDoesNotStopACompilation) {
  std::ofstream(options_.store) << std::string(5000, 'x');
  std::filesystem::permissions(options_.store,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(report().source, PlanSource::kModel);
  EXPECT_THAT(report().sourceNote, HasSubstr("damaged"));
}

TEST_F(PlanSources, MissingTunesOnceAndThenUses) {
  options_.tune = TuneMode::kMissing;
  options_.tuneSeconds = 3;
  Session session(options_);
  ASSERT_TRUE(session.compile(problem_, {true, false, false}).ok());
  const auto stored = TuningStore::open(options_.store, StoreAccess::kRead, nullptr).value()->all();
  ASSERT_TRUE(stored.ok());
  EXPECT_GT(stored.value().size(), 1U);
  EXPECT_EQ(report().source, PlanSource::kRecord);
  EXPECT_EQ(TuningStore::open(options_.store, StoreAccess::kRead, nullptr).value()->all().value().size(),
            stored.value().size());
}

// What a session measured while another process held the store is used by the next one.
TEST_F(PlanSources, WhatABusyStoreCouldNotTakeIsUsedLater) {
  store(options_.store, winnerFor(keyFor(smallConvolution(8)), 0.9));
  HeldStore held(options_.store);
  options_.tune = TuneMode::kAlways;
  options_.tuneSeconds = 1;
  options_.storeWaitSeconds = 0;
  EXPECT_THAT(report().sourceNote, AllOf(HasSubstr("let go"), HasSubstr("user.db.waiting.jsonl")));
  held.release();
  options_.tune = TuneMode::kUse;
  EXPECT_EQ(report().source, PlanSource::kRecord);
}

// A chip's cycles, the time of emulating it, and that of emulating it without copies: three records of one problem, none of which
// is taken for another.
class GoalsOfAChip : public PlanSources {
 protected:
  void SetUp() override {
    PlanSources::SetUp();
    options_.machine = toyMachine();
    problem_.dtype = DType::kF16;
  }
  TuneKey key() const {
    const Session session(options_);
    return tuneKeyOf(problem_, Pass::kDx, session.machine(), options_);
  }
  PlanReport report() const { return Session(options_).plan(problem_, Pass::kDx).value(); }
  // A record under the key of the options, of a plan that nobody chooses without it.
  void storeWinner(const std::string& run) const {
    TuneRecord record = winnerFor(keyFor(problem_), 0.5, run);
    record.key = key();
    record.plan = SearchSpace::of(problem_, Pass::kDx, toyMachine()).value().enumerated().back().plan;
    store(options_.store, record);
  }
  Problem problem_ = smallConvolution(32);
};

TEST_F(GoalsOfAChip, RecordsOfOneAreNotThoseOfAnother) {
  struct Goal {
    TuneGoal goal;
    bool fast;
    const char* run;
  };
  const std::vector<Goal> goals{{TuneGoal::kCycles, false, "cycles"},
                                {TuneGoal::kHostTime, false, "faithful"},
                                {TuneGoal::kHostTime, true, "fast"}};
  const auto choose = [&](const Goal& goal) {
    options_.tuneFor = goal.goal;
    options_.elideCopies = goal.fast;
  };
  for (const Goal& stored : goals) {
    choose(stored);
    storeWinner(stored.run);
    for (const Goal& asked : goals) {
      choose(asked);
      const PlanReport planned = report();
      EXPECT_EQ(planned.source, stored.run == asked.run ? PlanSource::kRecord : PlanSource::kModel)
          << stored.run << " for " << asked.run;
      EXPECT_THAT(planned.sourceNote, HasSubstr(stored.run != asked.run      ? "are not used"
                                                : stored.run == goals[0].run ? "modelled at 2.00x"
                                                                             : "measured 2.00x"));
    }
    std::filesystem::remove(options_.store);
  }
  choose({TuneGoal::kCycles, true, ""});
  EXPECT_EQ(key().machine, machineFingerprint(toyMachine())) << "cycles do not depend on how a chip is emulated";
}

TEST_F(GoalsOfAChip, EmulatedRunsUseWhatWasMeasuredOnTheseThreadsOnly) {
  options_.tuneFor = TuneGoal::kHostTime;
  storeWinner("a");
  const auto compiled = Session(options_).compile(problem_, {true, true, false});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ(compiled.value()->planSource(Pass::kDx), PlanSource::kRecord);
  EXPECT_EQ(compiled.value()->planSource(Pass::kDw), PlanSource::kModel);
  options_.threads = 1;
  EXPECT_EQ(report().source, PlanSource::kModel);
  options_.threads = 2;
  options_.backend = BackendKind::kTileInterpreter;
  EXPECT_EQ(report().source, PlanSource::kModel) << "only generated code is tuned";
}

TEST_F(GoalsOfAChip, MissingMeasuresEmulatedRuns) {
  options_.tune = TuneMode::kMissing;
  options_.tuneFor = TuneGoal::kHostTime;
  options_.tuneSeconds = kTimesAsLong;
  ASSERT_TRUE(Session(options_).compile(problem_, {true, false, false}).ok());
  const auto stored = TuningStore::open(options_.store, StoreAccess::kRead, nullptr).value()->all();
  ASSERT_TRUE(stored.ok());
  EXPECT_GT(stored.value().size(), 1U);
  for (const TuneRecord& record : stored.value()) {
    EXPECT_EQ(record.key.machine, key().machine);
    EXPECT_FALSE(record.code.empty()) << "code ran";
  }
  EXPECT_EQ(report().source, PlanSource::kRecord);
}

TEST_F(PlanSources, PinsOutliveRecords) {
  options_.pins = folder_.file("pins.jsonl");
  EXPECT_EQ(report().source, PlanSource::kModel);  // chosen now, and added
  const PlanReport pinned = report();
  EXPECT_EQ(pinned.source, PlanSource::kPin);
  store(options_.store, winner(0.5, "a"));
  EXPECT_EQ(report().source, PlanSource::kPin);
  EXPECT_EQ(planIdentity(report().plan), planIdentity(pinned.plan));
  options_.pins.clear();
  EXPECT_EQ(report().source, PlanSource::kRecord);
}

TEST_F(PlanSources, APinFileThatCannotBeReadIsAnError) {
  options_.pins = folder_.file("pins.jsonl");
  std::ofstream(options_.pins) << "{\"schema\":\"cubejit.pin/1\"}\n";
  const auto planned = Session(options_).plan(problem_, Pass::kDx);
  ASSERT_FALSE(planned.ok());
  EXPECT_THAT(planned.error().message, HasSubstr("pins.jsonl:1:"));
  options_.pins = "/nonexistent/folder/pins.jsonl";
  EXPECT_FALSE(Session(options_).compile(problem_, {true, false, false}).ok());
}

TEST_F(PlanSources, PinsTellGradientsAndProblemsApart) {
  const std::string path = folder_.file("pins.jsonl"), isa = toString(planMachine().isa.level);
  ASSERT_TRUE(addPin(path, problem_, other_, isa).ok());
  EXPECT_TRUE(findPin(path, problem_, Pass::kDx, isa).value().has_value());
  EXPECT_FALSE(findPin(path, problem_, Pass::kDw, isa).value().has_value());
  EXPECT_FALSE(findPin(path, smallConvolution(16), Pass::kDx, isa).value().has_value());
  EXPECT_FALSE(findPin(path, problem_, Pass::kDx, "avx1024").value().has_value());
  EXPECT_FALSE(findPin(folder_.file("none"), problem_, Pass::kDx, isa).value().has_value());
}

}  // namespace
}  // namespace cubejit
