// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do plans run here and in a child alike, and is a child that dies, hangs or babbles survived?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <fstream>

#include "cubejit/machines/toy.h"
#include "runtime/tuning/child_lab.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/local_lab.h"
#include "runtime/tuning/search_space.h"
#include "runtime/tuning/serve_lab.h"
#include "tests/support/plan_fields.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

class Labs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
    if (std::string(CUBEJIT_CLI).empty()) GTEST_SKIP() << "the command is not built";
    task_.problem = smallConvolution(32);
    task_.isa = toString(planMachine().isa.level);
    task_.threads = 2;
    plans_ = SearchSpace::of(task_.problem, Pass::kDx, planMachine()).value().enumerated();
  }
  // The same for plans of an emulated chip.
  void emulate() {
    task_.machine = toyMachine();
    task_.problem.dtype = DType::kF16;
    plans_ = SearchSpace::of(task_.problem, Pass::kDx, *task_.machine).value().enumerated();
  }
  WorkerHow script(const std::string& text, double timeout = 20) {
    const std::string path = folder_.file("worker.sh");
    std::ofstream(path) << text;
    return {{"/bin/sh", path}, timeout};
  }
  // The real worker behind a filter that misbehaves when a question holds `trigger`.
  WorkerHow misbehaving(const std::string& trigger, const std::string& how, double timeout = 20) {
    return script("while IFS= read -r line; do case $line in *'" + trigger + "'*) " + how +
                      " ;; esac; printf '%s\\n' \"$line\"; done | { " + std::string(CUBEJIT_CLI) + " tune-worker; }\n",
                  timeout);
  }
  void works(Lab& lab) {
    const LabReply a = lab.load(0, plans_[0].plan), b = lab.load(1, plans_[1].plan);
    ASSERT_TRUE(a.ok()) << a.message;
    ASSERT_TRUE(b.ok()) << b.message;
    EXPECT_EQ(a.code.size(), 16U);
    EXPECT_TRUE(lab.verify(1).ok());
    const LabReply times = lab.sample({0, 1}, 4);
    ASSERT_TRUE(times.ok()) << times.message;
    ASSERT_EQ(times.samplesNs.size(), 2U);
    EXPECT_EQ(times.samplesNs[0].size(), 4U);
    for (const std::int64_t ns : times.samplesNs[1]) EXPECT_GT(ns, 0);
    EXPECT_TRUE(lab.renew().ok());
    EXPECT_TRUE(lab.sample({0, 1}, 2).ok()) << "plans survive a fresh start";
    lab.drop(1);
    EXPECT_EQ(lab.sample({0, 1}, 1).status, TrialStatus::kFailed);
    EXPECT_TRUE(lab.sample({0}, 1).ok());
  }
  void refuses(Lab& lab) {
    TilingPlan plan = plans_[0].plan;
    ASSERT_TRUE(setField(plan, "register_vectors", 300));
    const LabReply reply = lab.load(5, plan);
    EXPECT_EQ(reply.status, TrialStatus::kRefused);
    EXPECT_THAT(reply.message, HasSubstr("vector registers"));
  }
  ScratchFolder folder_{"lab"};
  LabTask task_;
  std::vector<SearchPlan> plans_;
};

TEST_F(Labs, InThisProcess) {
  auto lab = LocalLab::open(task_, folder_.file("turn"));
  ASSERT_TRUE(lab.ok());
  works(*lab.value());
  refuses(*lab.value());
}

TEST_F(Labs, InAChild) {
  auto lab = ChildLab::open(task_, folder_.file("turn"), {{CUBEJIT_CLI, "tune-worker"}, 20});
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  works(*lab.value());
  refuses(*lab.value());
}

TEST_F(Labs, BothDigestTheSameCode) {
  auto local = LocalLab::open(task_, "");
  auto child = ChildLab::open(task_, "", {{CUBEJIT_CLI, "tune-worker"}, 20});
  EXPECT_EQ(local.value()->load(0, plans_[0].plan).code, child.value()->load(0, plans_[0].plan).code);
  EXPECT_NE(local.value()->load(0, plans_[0].plan).code, local.value()->load(1, plans_.back().plan).code);
}

TEST_F(Labs, EmulatedChipsRunHereAndInAChild) {
  emulate();
  auto local = LocalLab::open(task_, "");
  auto child = ChildLab::open(task_, "", {{CUBEJIT_CLI, "tune-worker"}, 20});
  ASSERT_TRUE(local.ok()) << local.error().message;
  ASSERT_TRUE(child.ok()) << child.error().message;
  for (Lab* lab : {static_cast<Lab*>(local.value().get()), static_cast<Lab*>(child.value().get())}) {
    works(*lab);
    TilingPlan plan = plans_[0].plan;
    plan.cube().tile.base.m *= 64;
    EXPECT_EQ(lab->load(5, plan).status, TrialStatus::kRefused);
    EXPECT_EQ(lab->load(6, choosePlan(task_.problem, Pass::kDx, planMachine(), false).value().plan).status,
              TrialStatus::kRefused)
        << "a plan of the host's";
  }
  const std::string faithful = local.value()->load(0, plans_[0].plan).code;
  EXPECT_EQ(child.value()->load(0, plans_[0].plan).code, faithful);
  task_.elideCopies = true;
  child = ChildLab::open(task_, "", {{CUBEJIT_CLI, "tune-worker"}, 20});
  ASSERT_TRUE(child.ok()) << child.error().message;
  const std::string fast = child.value()->load(0, plans_[0].plan).code;
  EXPECT_NE(fast, faithful);
  EXPECT_EQ(fast, LocalLab::open(task_, "").value()->load(0, plans_[0].plan).code);
}

TEST_F(Labs, ACrashCostsOnePlan) {
  TilingPlan bad = plans_[1].plan;
  ASSERT_TRUE(setField(bad, "unroll", 7));
  auto lab = ChildLab::open(task_, "", misbehaving("\"unroll\":7", "kill -SEGV 0"));
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  ASSERT_TRUE(lab.value()->load(0, plans_[0].plan).ok());
  const LabReply crash = lab.value()->load(1, bad);
  EXPECT_EQ(crash.status, TrialStatus::kCrashed);
  EXPECT_THAT(crash.message, HasSubstr("SIGSEGV"));
  EXPECT_TRUE(lab.value()->sample({0}, 2).ok()) << "the plan before it is loaded again";
}

TEST_F(Labs, AWorkerWithoutResourcesDidNotCrash) {
  auto lab = ChildLab::open(
      task_, "",
      script("IFS= read -r line\nprintf '%s\\n' \"$line\" | " + std::string(CUBEJIT_CLI) + " tune-worker\nexit 4\n",
             20));
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  const LabReply reply = lab.value()->load(0, plans_[0].plan);
  EXPECT_EQ(reply.status, TrialStatus::kFailed);
  EXPECT_THAT(reply.message, HasSubstr("code 4"));
}

TEST_F(Labs, AHangIsEndedInTime) {
  TilingPlan bad = plans_[1].plan;
  ASSERT_TRUE(setField(bad, "unroll", 7));
  auto lab = ChildLab::open(task_, "", misbehaving("\"unroll\":7", "sleep 600", 2));
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  ASSERT_TRUE(lab.value()->load(0, plans_[0].plan).ok());
  const LabReply hang = lab.value()->load(1, bad);
  EXPECT_EQ(hang.status, TrialStatus::kTimedOut);
  EXPECT_THAT(hang.message, HasSubstr("2000 ms"));
  EXPECT_TRUE(lab.value()->sample({0}, 2).ok());
}

TEST_F(Labs, WorkersThatDoNotStartOrBabbleAreErrors) {
  EXPECT_FALSE(ChildLab::open(task_, "", {{"/nonexistent/program"}, 5}).ok());
  EXPECT_FALSE(ChildLab::open(task_, "", script("echo hello\nsleep 5\n", 5)).ok());
  EXPECT_FALSE(ChildLab::open(task_, "", script("exit 3\n", 5)).ok());
}

TEST_F(Labs, ServingRefusesWhatItCannotRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "{}\n", 3), 3);
  close(ends[1]);
  const pid_t pid = fork();  // serving changes its process: it asks to die with its parent
  if (pid == 0) _exit(serveLab(ends[0], 2) ? 0 : 9);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 9);
  close(ends[0]);
}

}  // namespace
}  // namespace cubejit
