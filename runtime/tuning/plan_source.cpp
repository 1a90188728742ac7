// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of sources and what a search within a compilation may cost.
#include "runtime/tuning/plan_source.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "runtime/host/fork.h"
#include "runtime/host/threads.h"
#include "runtime/loader/llvm_component.h"
#include "runtime/pipeline/choose_within.h"
#include "runtime/tuning/autotune.h"
#include "runtime/tuning/fingerprint.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/local_lab.h"
#include "runtime/tuning/model_lab.h"
#include "runtime/tuning/pins.h"
#include "runtime/tuning/record_keeper.h"
#include "runtime/tuning/seen_problem.h"
#include "runtime/tuning/store.h"
#include "tiling/legal_plans.h"
#include "tiling/rule_lines.h"

namespace cubejit {

TuneKey tuneKeyOf(const Problem& problem, Pass pass, const Machine& machine, const Options& options) {
  if (isModelled(machine, options))
    return {modelledProblem(problem, pass), pass, machineFingerprint(machine), "model", 1};
  // Plans may be made for fewer cores than there are; the key has the threads.
  const std::string where = machine.isEmulated() ? emulationFingerprint(machine, options.elideCopies)
                                                 : machineFingerprint(detectHost(machine.isa.level));
  return {seenProblem(problem, pass), pass, where, toString(options.backend), threadsOf(options)};
}

LabTask labTaskOf(const TuneKey& key, const Machine& machine, const Options& options) {
  return {key.problem,
          key.pass,
          toString(machine.isa.level),
          key.backend,
          key.threads,
          options.llvmComponent,
          machine.isEmulated() ? std::optional<Machine>(machine) : std::nullopt,
          options.elideCopies,
          false};
}

bool isModelled(const Machine& machine, const Options& options) {
  return machine.isEmulated() && options.tuneFor == TuneGoal::kCycles;
}

namespace {

void addNote(std::string& notes, const std::string& note) { notes += (notes.empty() ? "" : "; ") + note; }

bool canRun(const TilingPlan& plan, const Options& options) {
  return plan.backend != PlanBackend::kLlvm || llvmComponent(options.llvmComponent).ok();
}

std::string pinnedFor(const Machine& machine) {
  return machine.isEmulated() ? machine.name : toString(machine.isa.level);
}

// What a plan is looked for.
struct Sought {
  const Problem& problem;
  const Machine& machine;
  const Options& options;
  const PlanRules& rules;

  /// Why a record's plan is not used; empty if it can be.
  std::string whyNot(const TilingPlan& plan) const {
    if (!canRun(plan, options)) return "the best record's plan wants LLVM, whose component is not here";
    std::vector<std::string> broken = checkPlan(problem, plan, machine);
    if (broken.empty() && rules) broken = rules(plan);
    return broken.empty() ? "" : "the record's plan is not legal here: " + broken.front();
  }
};

// The best record of the file whose plan is legal here and keeps the rules.
std::optional<TuneRecord> lookUp(const std::string& path, const TuneKey& key, const Sought& sought,
                                 std::string& notes) {
  if (path.empty() || access(path.c_str(), F_OK) != 0) return std::nullopt;
  const NoFork whole;  // a child that inherits the store open may not use any
  const auto store = TuningStore::open(path, StoreAccess::kRead, nullptr, false, sought.options.storeWaitSeconds);
  if (!store.ok()) {
    addNote(notes, store.error().message);
    return std::nullopt;
  }
  auto winners = (*store)->winners(key, version());
  if (!winners.ok()) {
    addNote(notes, winners.error().message);
    return std::nullopt;
  }
  std::string whyNot;  // of the best that cannot be used
  for (TuneRecord& record : *winners) {
    const std::string broken = sought.whyNot(record.plan);
    if (whyNot.empty()) whyNot = broken;
    if (!broken.empty()) continue;
    if (!whyNot.empty()) addNote(notes, whyNot);
    return std::move(record);
  }
  if (!whyNot.empty()) addNote(notes, whyNot);
  if (!winners->empty()) return std::nullopt;
  // A chip's modelled cycles are kept under another form of the problem than times.
  std::vector<Problem> forms{seenProblem(sought.problem, key.pass)};
  if (Problem modelled = modelledProblem(sought.problem, key.pass); modelled != forms.front())
    forms.push_back(std::move(modelled));
  std::int64_t others = 0;
  for (const Problem& form : forms) {
    TuneKey told = key;
    told.problem = form;
    const auto count = (*store)->elsewhere(told, version());
    others += count.ok() ? *count : 0;
  }
  if (others > 0)
    addNote(notes, std::to_string(others) + " winners of other machines, threads, backends or versions are not used");
  return std::nullopt;
}

// Only the planner's own candidates: they run in this process. Mutations are the command's business, which has a child for them.
void tuneNow(const TuneKey& key, const Machine& machine, const Options& options, std::string& notes) {
  const LabTask task = labTaskOf(key, machine, options);
  const bool modelled = isModelled(machine, options);
  std::unique_ptr<Lab> lab;
  if (modelled) {
    lab = std::make_unique<ModelLab>(task, machine);
  } else {
    auto local = LocalLab::open(task, options.turnFile);
    if (!local.ok()) return addNote(notes, local.error().message);
    lab = std::move(*local);
  }
  RecordKeeper keeper(options.store, [&](const std::string& note) { addNote(notes, note); }, options.storeWaitSeconds);
  TuneSetup setup;
  setup.key = key;
  setup.machine = machine;
  setup.strategy = StrategyKind::kModel;
  setup.mostSeconds = options.tuneSeconds;
  if (modelled) {  // nothing runs that could crash, and the model's order is known
    setup.rules = ModelLab::rules();
    setup.strategy = StrategyKind::kEvolve;
  }
  setup.version = version();
  setup.run = "compile-" + std::to_string(std::time(nullptr)) + "-" + std::to_string(getpid());
  setup.otherPoints = pointsOfOthers(keeper.all(), key);
  for (TuneRecord& record : keeper.of(key, setup.version)) {
    if (record.won && !record.untuned) setup.known.push_back(std::move(record));
  }
  TuneWatch watch;
  watch.keep = [&](const TuneRecord& record) { keeper.keep(record); };
  const auto outcome = autotune(setup, *lab, watch);
  if (!outcome.ok()) addNote(notes, outcome.error().message);
  static_cast<void>(keeper.finish(""));  // which tells what became of records that are not in the store
}

SourcedPlan findTuned(const Sought& sought, Pass pass) {
  const auto& [problem, machine, options, rules] = sought;
  SourcedPlan out;
  if (options.tune == TuneMode::kOff || !options.algorithm.empty() || options.batchInvariant) return out;
  const bool modelled = isModelled(machine, options);
  if (machine.isEmulated() && pass == Pass::kDb) return out;
  if (!modelled && options.backend != BackendKind::kXbyak) return out;
  const TuneKey key = tuneKeyOf(problem, pass, machine, options);
  auto found = lookUp(options.store, key, sought, out.note);
  const bool search = options.tune == TuneMode::kAlways || (options.tune == TuneMode::kMissing && !found);
  if (search && !options.store.empty()) {
    tuneNow(key, machine, options, out.note);
    found = lookUp(options.store, key, sought, out.note);
  }
  if (!found) found = lookUp(options.systemStore, key, sought, out.note);
  if (!found) return out;
  out.plan = found->plan;
  out.plan = completed(problem, *out.plan, machine);
  out.source = PlanSource::kRecord;
  char gain[32];
  std::snprintf(gain, sizeof gain, "%.2fx", 1 / found->relative);  // as tune, db and reports round it
  addNote(out.note, std::string(modelled ? "modelled at " : "measured ") + gain +
                        " the speed of the model's choice, run " + found->run);
  return out;
}

}  // namespace

Result<SourcedPlan> findKeptPlan(const Problem& problem, Pass pass, const Machine& machine, const Options& options,
                                 const PlanRules& rules) {
  const Sought sought{problem, machine, options, rules};
  if (options.pins.empty()) return findTuned(sought, pass);
  CUBEJIT_TRY(pin, findPin(options.pins, problem, pass, pinnedFor(machine)));
  if (!pin) return findTuned(sought, pass);
  if (rules) {
    const std::vector<std::string> broken = rules(*pin);
    if (!broken.empty())
      return invalidInput("the plan that " + options.pins + " pins cannot be used here\n" + inLines(broken),
                          Stage::kPlan);
  }
  SourcedPlan pinned{*pin, PlanSource::kPin, options.pins};
  if (canRun(*pin, options)) return pinned;
  pinned.plan->backend = PlanBackend::kSession;  // every backend gives the same bits
  addNote(pinned.note, "it wants LLVM, whose component is not here");
  return pinned;
}

Result<SourcedPlan> findPlan(const Problem& problem, Pass pass, const Machine& machine, const Options& options) {
  CUBEJIT_TRY(kept, findKeptPlan(problem, pass, machine, options));
  if (options.pins.empty() || kept.source == PlanSource::kPin) return kept;
  if (!kept.plan) {
    CUBEJIT_TRY(choice, choosePlanWithin(problem, pass, machine, false, WeightsUse::kEachRun, options));
    kept.plan = choice.plan;
  }
  CUBEJIT_RETURN_IF_ERROR(addPin(options.pins, problem, *kept.plan, pinnedFor(machine)));
  return kept;
}

}  // namespace cubejit
