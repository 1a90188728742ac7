// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `tune` tunes, in which order and for how long, and what it says about the result.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "commands.h"
#include "distinct_files.h"
#include "duration.h"
#include "failure.h"
#include "interrupts.h"
#include "json_line.h"
#include "request.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/tuning/serve_lab.h"
#include "tiling/words.h"
#include "tune_mpi.h"
#include "tune_report.h"
#include "tune_run.h"
#include "tune_simulate.h"

namespace cubejit::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TuneFlags {
  std::string budget, strategy = "evolve", db, progress = "auto", report, simulate, worker;
  std::string trialTimeout = "30s";
  std::optional<double> dbWait;
  int trials = 0;
  std::uint64_t seed = 1;
  bool resume = false, mpi = false, keepBits = false;
};

constexpr int kDefaultTrials = 64;
constexpr double kBusyShare = 0.75;  // of the cores taken by others

struct AskedTuning {
  Request request;
  TuneOptions options;
  ViewKind view = ViewKind::kPlain;
};

Result<ViewKind> parseView(const std::string& text, bool quiet) {
  if (text == "json") return ViewKind::kJson;
  if (text == "plain") return ViewKind::kPlain;
  if (text != "none" && text != "auto")
    return cubejit::unknownWord("--progress", text, {"auto", "plain", "json", "none"});
  if (text == "none" || quiet) return ViewKind::kSilent;
  return isatty(STDERR_FILENO) == 1 ? ViewKind::kTerminal : ViewKind::kPlain;
}

// Everything wrong with the flags is said at once.
Result<AskedTuning> resolveTune(const RequestFlags& flags, const TuneFlags& own, bool quiet) {
  AskedTuning asked;
  std::string broken;
  ErrorCode code = ErrorCode::kInvalidProblem;
  const auto note = [&](const Error& e) {
    broken += (broken.empty() ? "" : "\n") + e.message;
    if (e.code != ErrorCode::kInvalidProblem) code = e.code;
  };
  auto request = resolve(flags);
  const auto strategy = parseStrategy(own.strategy);
  const auto view = parseView(own.progress, quiet);
  const auto timeout = parseDuration("--trial-timeout", own.trialTimeout);
  if (!request.ok()) note(request.error());
  if (!strategy.ok()) note(strategy.error());
  if (!view.ok()) note(view.error());
  if (!timeout.ok()) note(timeout.error());
  if (request.ok() && request->soc()) {
    if (request->passes.y || request->passes.dx || request->passes.dw)
      request->passes.db = false;  // it has but one plan
  }
  if (!own.budget.empty()) {
    const auto seconds = parseDuration("--budget", own.budget);
    if (seconds.ok())
      asked.options.seconds = *seconds;
    else
      note(seconds.error());
  }
  if (request.ok() && request->options.backend != BackendKind::kXbyak)
    note(Error{ErrorCode::kUnsupported, Stage::kProblem, "only generated code is worth tuning; leave --backend out"});
  if (request.ok() && request->soc() && flags.fast && request->options.tuneFor == TuneGoal::kCycles)
    note(invalidInput(
        "--fast changes how soon a chip is emulated, not its cycles; add --for host-time, or leave it out"));
  if (request.ok() && own.keepBits && request->soc() && request->options.tuneFor == TuneGoal::kCycles)
    note(
        invalidInput("--keep-bits compares results, and plans for a chip's cycles are not run; add --for host-time, or "
                     "leave it out"));
  if (request.ok() && !request->plans.empty())
    note(invalidInput("--plan fixes what tuning is to find; leave it out", Stage::kPlan));
  if (!own.db.empty() && request.ok()) request->options.store = own.db;
  if (own.dbWait && request.ok()) request->options.storeWaitSeconds = *own.dbWait;
  if (request.ok() && request->options.store.empty())
    note(Error{ErrorCode::kIo, Stage::kPlan, "no place for records: HOME is not set; name a file with --db"});
  if (request.ok()) {
    const Status distinct = distinctFiles(
        {{"--report", own.report}},
        {{"the store", request->options.store}, {"--suite", flags.suite}, {"--pin", request->options.pins}});
    if (!distinct.ok()) note(distinct.error());
  }
  if (!broken.empty()) return Error{code, Stage::kProblem, broken};
  asked.request = std::move(*request);
  asked.options.strategy = *strategy;
  asked.options.trials =
      own.trials == 0 && own.budget.empty() && *strategy != StrategyKind::kExhaustive ? kDefaultTrials : own.trials;
  asked.options.trialSeconds = *timeout;
  asked.options.worker = own.worker;
  asked.options.resume = own.resume;
  asked.options.keepBits = own.keepBits;
  asked.options.seed = own.seed;
  asked.view = *view;
  return asked;
}

Json rowJson(const TuneRow& row, const Session& session) {
  Json out{{"schema", "cubejit.tune/1"}, {"name", row.task.problem.name}, {"pass", toString(row.task.pass)}};
  if (!row.error.empty()) {
    out["error"] = row.error;
    return out;
  }
  const TuneOutcome& o = row.outcome;
  if (session.machine().isEmulated()) {
    out["soc"] = session.machine().name;
    out["for"] = toString(session.options().tuneFor);
    out["fast"] = session.options().elideCopies;
    out["untuned_cycles"] = o.untuned.cost.totalCycles;
    out["cycles"] = o.best.cost.totalCycles;
  }
  out["untuned_ns"] = medianNs(o.untuned.samplesNs);
  out["relative"] = o.best.relative;
  out["gain"] = 1 / o.best.relative;
  out["confirmed"] = o.confirmed;
  out["tuned"] = !o.best.untuned;
  out["trials"] = o.tried;
  out["adopted"] = o.adopted;
  for (int s = 0; s <= static_cast<int>(TrialStatus::kFailed); ++s)
    out[toString(static_cast<TrialStatus>(s))] = o.byStatus[s];
  out["discarded_batches"] = o.discarded;
  out["seconds"] = o.seconds;
  out["interrupted"] = o.interrupted;
  out["exhausted"] = o.exhausted;
  out["spearman"] = o.model.spearman;
  out["kendall"] = o.model.kendall;
  out["model_regret"] = 1 / o.best.relative - 1;
  out["refit_spearman"] = o.refitted.spearman;
  out["plan"] = Json::parse(planToJson(o.best.plan));
  return out;
}

void printRow(const TuneRow& row, bool json, const Session& session) {
  if (json) {
    fmt::print("{}", jsonLine(rowJson(row, session)));
  } else if (row.error.empty()) {
    const TuneOutcome& o = row.outcome;
    const double ms = static_cast<double>(medianNs(o.untuned.samplesNs)) * 1e-6;
    fmt::print("{:<34} {:<3} {:>10.3f} {:>10.3f} {:>6.2f}x {:>6} {:>6} {:>8.2f}  {}\n",
               row.task.problem.name.substr(0, 34), toString(row.task.pass), ms, ms * o.best.relative,
               1 / o.best.relative, o.tried, o.adopted, o.model.spearman,
               o.interrupted    ? "interrupted"
               : o.best.untuned ? "the model's plan stays"
                                : "tuned");
  }
  std::fflush(stdout);
}

void printSummary(const std::vector<TuneRow>& rows, double seconds) {
  std::map<std::string, std::pair<double, int>> logs;
  double worst = 1;
  for (const TuneRow& row : rows) {
    if (!row.error.empty() || row.outcome.best.relative <= 0) continue;
    auto& [sum, count] = logs[toString(row.task.pass)];
    sum += std::log(1 / row.outcome.best.relative);
    ++count;
    worst = std::max(worst, 1 / row.outcome.best.relative);
  }
  for (const auto& [pass, entry] : logs)
    fmt::print("{}: {:.3f}x geometric mean over {} problems\n", pass, std::exp(entry.first / entry.second),
               entry.second);
  fmt::print("largest gain {:.2f}x; {} spent\n", worst, clockText(seconds));
}

// Tasks that other ranks tuned, as their records tell.
void addRowsOfOthers(const std::vector<TuneTask>& tasks, const TuneRun& run, RecordKeeper& keeper,
                     std::vector<TuneRow>& rows) {
  for (const TuneTask& task : tasks) {
    const auto same = [&](const TuneRow& row) {
      return row.task.problem == task.problem && row.task.pass == task.pass;
    };
    if (std::any_of(rows.begin(), rows.end(), same)) continue;
    TuneRow row;
    row.task = task;
    for (const TuneRecord& record : keeper.of(run.keyOf(task), version())) {
      if (record.untuned) row.outcome.untuned = record;
      const bool winner = record.won && record.verified && record.status == TrialStatus::kMeasured;
      if (winner && (row.outcome.best.relative == 0 || record.relative < row.outcome.best.relative))
        row.outcome.best = record;
      ++row.outcome.tried;
    }
    if (row.outcome.best.relative > 0) rows.push_back(std::move(row));
  }
}

// What was not finished, and how to go on.
std::string resumeText(const std::string& typed) {
  return fmt::format("interrupted; every finished trial is stored. Go on with\n  {}{}", typed,
                     typed.find("--resume") == std::string::npos ? " --resume" : "");
}

int tune(const RequestFlags& flags, const TuneFlags& own, const std::string& typed) {
  if (!own.simulate.empty()) return simulate(own.simulate, flags.json, typed);
  auto mpi = own.mpi ? MpiWorld::join() : Result<std::unique_ptr<MpiWorld>>(nullptr);
  if (!mpi.ok()) return report(mpi.error(), typed);
  const int rank = *mpi == nullptr ? 0 : (*mpi)->rank();
  const auto refused = [&](const Error& error) {
    const int code = rank == 0 ? report(error, typed) : exitCode(error.code);
    if (*mpi != nullptr) (*mpi)->leave(code);
    return code;
  };
  auto asked = resolveTune(flags, own, rank > 0);
  if (!asked.ok()) return refused(asked.error());
  listenForInterrupts();
  asked->request.options.tune = TuneMode::kOff;
  const Session session(asked->request.options);
  if (const Status usable = session.status(); !usable.ok()) return refused(usable.error());
  TuneView view(asked->view, asked->options.seconds);
  RecordKeeper keeper(
      session.options().store, [&](const std::string& text) { view.warn(text); }, session.options().storeWaitSeconds);
  TuneRun run(session, asked->options, keeper, view, stopRequested);
  if (const Status runs = run.modelled() ? Unit{} : checkRunnable(session.machine().isa.level); !runs.ok())
    return refused(runs.error());
  double load = 0;
  const int cores = detectHost(session.machine().isa.level).cores;  // of which --threads may be fewer
  if (!run.modelled() && getloadavg(&load, 1) == 1 && load > kBusyShare * cores && rank == 0)
    view.note(
        fmt::format("the machine is busy (load {:.1f} on {} cores): plans that get on with the neighbours will be "
                    "found, not those that are fastest alone",
                    load, cores));
  std::vector<TuneTask> tasks;
  for (Problem& problem : asked->request.problems) {
    if (problem.name.empty()) problem.name = labelOf(problem);
    for (const Pass pass : passesOf(asked->request.passes)) tasks.push_back({problem, pass});
  }
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const bool header = !flags.json && rank == 0;
  if (header && run.modelled()) fmt::print("modelled on {}; nothing is timed\n", session.machine().name);
  if (header && session.machine().isEmulated() && !run.modelled())
    fmt::print("{}{} emulated on {} threads, timed\n", session.machine().name,
               session.options().elideCopies ? " --fast" : "", asked->request.threads[0]);
  if (header)
    fmt::print("{:<34} {:<3} {:>10} {:>10} {:>7} {:>6} {:>6} {:>8}\n", "problem", "", "untuned ms", "tuned ms", "gain",
               "trials", "known", "spearman");
  std::vector<TuneRow> rows;
  int code = 0;
  const auto tuneOne = [&](int index, int left) {
    const double share = asked->options.seconds > 0 ? (asked->options.seconds - elapsed()) / std::max(1, left) : 0;
    TuneRow row =
        run.tune(tasks[static_cast<std::size_t>(index)], asked->options.seconds > 0 ? std::max(share, 0.05) : 0, index,
                 static_cast<int>(tasks.size()));
    view.clear();
    if (!row.error.empty()) {
      code = std::max(code, exitCode(row.errorCode));
      if (rank == 0 || *mpi != nullptr) {
        report(Error{row.errorCode, Stage::kRun, row.task.problem.name + ": " + row.error},
               reproduction("tune", flags, row.task.problem));
      }
    }
    printRow(row, flags.json, session);
    rows.push_back(std::move(row));
  };
  if (*mpi != nullptr) {
    code = std::max(code, (*mpi)->share(static_cast<int>(tasks.size()), tuneOne, run, keeper, stopRequested,
                                        [&](const std::string& text) { view.note(text); }));
    if (rank == 0) addRowsOfOthers(tasks, run, keeper, rows);
  } else {
    for (std::size_t i = 0; i < tasks.size() && !stopRequested(); ++i)
      tuneOne(static_cast<int>(i), static_cast<int>(tasks.size() - i));
  }
  view.clear();
  if (!keeper.finish(fmt::format("cubejit-records-{}.jsonl", run.run()))) code = std::max(code, 5);
  if (header && rows.size() > 1) printSummary(rows, elapsed());
  if (rank == 0 && !own.report.empty()) {
    const Status written = writeReport(own.report, rows, keeper, session, run, elapsed());
    if (!written.ok()) code = std::max(code, report(written.error(), typed));
  }
  if (stopRequested()) {
    if (rank == 0) view.warn(resumeText(typed));
    code = 130;
  }
  if (*mpi != nullptr) (*mpi)->leave(code);
  return code;
}

}  // namespace

void addTune(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("tune", "Measure plans on this machine and keep the best; later runs use what was found");
  example(*command, "tune " + std::string(kExampleLayer) + " --passes dx --trials 16");
  auto flags = std::make_shared<RequestFlags>();
  auto own = std::make_shared<TuneFlags>();
  addProblemFlags(*command, *flags, true);
  addRunFlags(*command, *flags);
  addSocFlag(*command, *flags);
  addEmulationFlags(*command, *flags);
  command->get_option("--for")->description(
      "With --soc, what is minimised: the chip's modelled cycles, or the host-time of emulating it "
      "(default: $CUBEJIT_TUNE_FOR, or cycles)");
  command->get_option("--fast")->description("With --for host-time: time runs of --fast, for later ones of --fast");
  command->add_option("--budget", own->budget, "Time for all of it, e.g. 30s, 10m, 2h; cut equally among the passes");
  command->add_option("--trials", own->trials, "Plans to try for each pass (default 64, unless there is a budget)")
      ->transform(wholeFrom(1, 1000000000));
  command->add_option("--strategy", own->strategy, "model, evolve, random or exhaustive");
  command->add_option("--seed", own->seed, "Seed of the strategies that draw lots")
      ->transform(wholeFrom<std::uint64_t>(0));
  command->add_option("--db", own->db, "File of records (default: CUBEJIT_DB, or the user's data folder)");
  addStoreWaitFlag(*command, own->dbWait);
  command->add_flag("--resume", own->resume, "Go on from the records there are: no plan is measured twice");
  command->add_flag("--keep-bits", own->keepBits, "Only plans whose results have the very bits of the untuned plan's");
  command->add_option("--report", own->report, "Write a page about the run to this HTML file");
  command->add_option("--progress", own->progress, "auto, plain, json or none; on standard error");
  command->add_option("--simulate", own->simulate,
                      "Replay the records of this file (store or JSON lines) and compare strategies");
  command->add_option("--trial-timeout", own->trialTimeout, "A plan that takes longer counts as hung");
  command->add_option("--worker", own->worker, "Shell command to run plans in, instead of `cubejit tune-worker`");
  command->add_flag("--mpi", own->mpi, "Share the problems among the ranks mpirun started");
  command->callback(
      [&action, flags, own] { action = [flags, own](const std::string& typed) { return tune(*flags, *own, typed); }; });
  CLI::App* worker = app.add_subcommand("tune-worker", "")->group("");
  worker->callback(
      [&action] { action = [](const std::string&) { return serveLab(STDIN_FILENO, STDOUT_FILENO) ? 0 : 6; }; });
}

}  // namespace cubejit::cli
