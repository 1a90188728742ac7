// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the pieces a search is put together from.
#include "tune_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <utility>

#include "runtime/loader/llvm_component.h"
#include "runtime/tuning/child_lab.h"
#include "runtime/tuning/model_lab.h"
#include "runtime/tuning/plan_source.h"
#include "tiling/check_problem.h"

namespace cubejit::cli {
namespace {

WorkerHow workerOf(const TuneOptions& options) {
  WorkerHow how;
  how.timeoutSeconds = options.trialSeconds;
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (options.worker.empty())
    how.command = {error ? "cubejit" : self, "tune-worker"};
  else
    how.command = {"/bin/sh", "-c", options.worker};
  return how;
}

std::string newRunName() {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{}-{}-{}", host.data(), static_cast<long>(std::time(nullptr)), getpid());
}

}  // namespace

TuneRun::TuneRun(const Session& session, const TuneOptions& options, RecordKeeper& keeper, TuneView& view,
                 std::function<bool()> stop)
    : session_(session),
      options_(options),
      keeper_(keeper),
      view_(view),
      stop_(std::move(stop)),
      run_(newRunName()),
      llvm_(!session.machine().isEmulated() && llvmComponent(session.options().llvmComponent).ok()) {}

TuneKey TuneRun::keyOf(const TuneTask& task) const {
  return tuneKeyOf(task.problem, task.pass, machine(), session_.options());
}

bool TuneRun::modelled() const { return isModelled(machine(), session_.options()); }

Result<std::unique_ptr<Lab>> TuneRun::openLab(const TuneKey& key) const {
  LabTask what = labTaskOf(key, machine(), session_.options());
  what.keepBits = options_.keepBits;
  if (modelled()) return std::unique_ptr<Lab>(std::make_unique<ModelLab>(what, machine()));
  CUBEJIT_TRY(lab, ChildLab::open(what, session_.options().turnFile, workerOf(options_)));
  return std::unique_ptr<Lab>(std::move(lab));
}

TuneRow TuneRun::tune(const TuneTask& task, double seconds, int index, int count) {
  TuneRow row;
  row.task = task;
  const auto failed = [&](const Error& error) {
    row.error = error.message;
    row.errorCode = error.code;
    return row;
  };
  view_.begin({index, count, task.problem.name, toString(task.pass), options_.trials, seconds});
  const Status legal = checkProblem(task.problem);
  if (!legal.ok()) return failed(legal.error());
  TuneSetup setup;
  setup.key = keyOf(task);
  setup.machine = machine();
  setup.llvm = llvm_;
  if (modelled()) setup.rules = ModelLab::rules();
  setup.strategy = options_.strategy;
  setup.seed = options_.seed;
  setup.mostTrials = options_.trials;
  setup.mostSeconds = seconds;
  setup.version = version();
  setup.run = run_;
  setup.otherPoints = pointsOfOthers(keeper_.all(), setup.key);
  for (TuneRecord& record : keeper_.of(setup.key, setup.version)) {
    if (options_.resume || (record.won && !record.untuned)) setup.known.push_back(std::move(record));
  }
  auto lab = openLab(setup.key);
  if (!lab.ok()) return failed(lab.error());
  TuneWatch watch;
  watch.keep = [&](const TuneRecord& record) {
    keeper_.keep(record);
    if (alsoKeep) alsoKeep(record);
  };
  watch.progress = [&](const TuneProgress& now) { view_.progress(now); };
  watch.stop = stop_;
  if (options_.resume) watch.refresh = [&] { return keeper_.of(setup.key, setup.version); };
  auto outcome = autotune(setup, **lab, watch);
  if (!outcome.ok()) return failed(outcome.error());
  row.outcome = std::move(*outcome);
  view_.end(row.outcome);
  return row;
}

}  // namespace cubejit::cli
