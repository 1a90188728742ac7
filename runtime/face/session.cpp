// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a session remembers: executables by problem and passes. Leaves how they are kept to runtime/pipeline/generated_cache.h.
#include <cmath>
#include <optional>
#include <utility>

#include "algorithms/lower.h"
#include "cubejit/float_mode.h"
#include "cubejit/index_map.h"
#include "runtime/diagnose/follow.h"
#include "runtime/diagnose/report.h"
#include "runtime/diagnose/verbose.h"
#include "runtime/host/threads.h"
#include "runtime/loader/backends.h"
#include "runtime/pipeline/compile.h"
#include "runtime/pipeline/generated_cache.h"
#include "runtime/pipeline/plan_call.h"
#include "runtime/pipeline/problem_key.h"
#include "runtime/text/problem_text.h"
#include "runtime/tuning/known_plans.h"
#include "runtime/tuning/plan_source.h"
#include "tiling/check_problem.h"
#include "tiling/no_throw.h"
#include "tiling/planner.h"

namespace cubejit {

namespace {

using Compiled = Result<std::shared_ptr<const Executable>>;

// The rules that numbers of options break, one a line: faces that read text have ranges of their own, a struct has none.
std::string brokenRules(const Options& o) {
  std::string broken;
  const auto require = [&](bool holds, const char* name, const auto& value, const char* rule) {
    if (!holds)
      broken += (broken.empty() ? "" : "\n") + ("Options::" + std::string(name)) + " = " + std::to_string(value) +
                " must be " + rule;
  };
  require(o.threads >= 0, "threads", o.threads, "at least 0; 0 is as many as the process may use");
  require(o.memLimit >= 0, "memLimit", o.memLimit, "at least 0, in bytes; 0 is no limit");
  require(o.codeBudget >= 1, "codeBudget", o.codeBudget, "at least 1, in bytes");
  require(o.wakeCycles >= 0, "wakeCycles", o.wakeCycles, "at least 0, in core cycles");
  require(o.tuneSeconds > 0 && std::isfinite(o.tuneSeconds), "tuneSeconds", o.tuneSeconds, "more than 0, and finite");
  return broken;
}

template <class State>
std::unique_ptr<State> made(Options&& options) noexcept {
  const FloatScope environment;
  try {
    return std::make_unique<State>(std::move(options));
  } catch (...) {
    return nullptr;
  }
}

std::size_t codeBytesOf(const Executable& executable) {
  std::size_t bytes = 0;
  for (const auto& part : executable.state().parts) {
    for (const Code& code : part->codes) bytes += code.bytes.size();
  }
  return bytes;
}

}  // namespace

struct Session::State {
  explicit State(Options o) : options(std::move(o)), machine(machineFor(options)), executables(codeBytesOf) {
    auto diagnostics = diagnosticsOf(options.diagnostics);
    if (diagnostics.ok())
      options.diagnostics = *diagnostics;
    else
      refusal = diagnostics.error();
    if (const std::string broken = brokenRules(options); !broken.empty()) refusal = invalidInput(broken);
  }

  Compiled findOrGenerate(const Problem& problem, PassMask passes, WeightsUse weights);
  /// Checked, with plans that are known.
  Result<SourcedRequest> sourcedRequest(const CompileRequest& request) const;
  Compiled generate(const CompileRequest& request) const;

  // What the cache did with a key; the problem as text is only made if somebody wants to read it.
  void logCache(const CacheLookUp& lookUp, const Problem& problem, PassMask passes) const {
    if (!logs(options.diagnostics, Topic::kCache)) return;
    std::string asked;
    for (const Pass g : kPasses) {
      if (passes.has(g)) asked += (asked.empty() ? "" : ",") + std::string(toString(g));
    }
    reportLookUp(options.diagnostics, lookUp, toFlags(problem), {"passes", asked});
  }

  Options options;
  std::optional<Error> refusal;  ///< what the environment or the options say wrongly
  Machine machine;
  GeneratedCache<Executable> executables;
};

Compiled Session::State::findOrGenerate(const Problem& problem, PassMask passes, WeightsUse weights) {
  std::string key = problemKey(problem, passes);
  key.push_back(static_cast<char>(weights));
  return executables.find(
      key, options.cacheCapacity, [&](const CacheLookUp& lookUp) { logCache(lookUp, problem, passes); },
      [&] { return generate(CompileRequest{problem, passes, {}, weights}); });
}

Result<SourcedRequest> Session::State::sourcedRequest(const CompileRequest& request) const {
  if (options.machine && !machine.isEmulated())
    return invalidInput(
        "Options::machine = " + machine.name + " has no cube; name an NPU, or leave it unset for this host",
        Stage::kPlan);
  if (!request.passes.any()) return invalidInput("no pass is asked for; choose from y, dx, dw, db");
  CompileRequest seen = request;
  seen.problem = seenBy(request.problem, request.passes);
  CUBEJIT_RETURN_IF_ERROR(checkProblem(seen.problem));
  return withKnownPlans(seen, machine, options);
}

Compiled Session::State::generate(const CompileRequest& request) const {
  if (emitsCode(options.backend)) CUBEJIT_RETURN_IF_ERROR(checkRunnable(machine.isa.level));
  CUBEJIT_TRY(sourced, sourcedRequest(request));
  CUBEJIT_TRY(executable, compileExecutable(sourced.request, machine, options));
  sourced.mark(executable->state());
  CUBEJIT_RETURN_IF_ERROR(followLoad(executable->state(), machine));
  reportCompiled(executable->state(), machine);
  return std::shared_ptr<const Executable>(executable);
}

// A constructor has no other way to say that there is no memory: every call of such a session does.
Session::Session() {
  auto options = optionsFromEnvironment();
  if (!options.ok() && options.error().code == ErrorCode::kLimitExceeded) return;
  // What else is wrong with the environment, the session learns when it asks for diagnostics.
  state_ = made<State>(options.ok() ? std::move(options).value() : Options{});
}
Session::Session(Options options) : state_(made<State>(std::move(options))) {}
Session::~Session() = default;

const Options& Session::options() const {
  static const Options kNone;
  return state_ == nullptr ? kNone : state_->options;
}
const Machine& Session::machine() const {
  static const Machine kNone;
  return state_ == nullptr ? kNone : state_->machine;
}

namespace {

// Every call of a session.
template <class Body>
auto asked(const Session& session, Stage stage, const Body& body) noexcept -> decltype(body()) {
  return withoutThrowing(stage, [&]() -> decltype(body()) {
    CUBEJIT_RETURN_IF_ERROR(session.status());
    return body();
  });
}

}  // namespace

Status Session::status() const {
  if (state_ == nullptr) return outOfMemory(Stage::kProblem);
  return withoutThrowing(Stage::kProblem, [&]() -> Status {
    if (state_->refusal) return *state_->refusal;
    return Unit{};
  });
}

Compiled Session::compile(const Problem& problem, PassMask passes, WeightsUse weights) {
  return asked(*this, Stage::kProblem,
               [&] { return state_->findOrGenerate(seenBy(problem, passes), passes, weights); });
}

Compiled Session::compile(const CompileRequest& request) {
  return asked(*this, Stage::kProblem, [&] { return state_->generate(request); });
}

Result<std::shared_ptr<const Repacking>> Session::repack(const Problem& problem, TensorId tensor,
                                                         const TensorFormat& to) const {
  return asked(*this, Stage::kProblem, [&]() -> Result<std::shared_ptr<const Repacking>> {
    return compileRepacking(problem, tensor, to, state_->machine, state_->options);
  });
}

Result<PlanReport> Session::plan(const Problem& given, Pass pass, bool explain) const {
  return asked(*this, Stage::kPlan, [&]() -> Result<PlanReport> {
    const Machine& machine = state_->machine;
    const Problem problem = seenBy(given, maskOf(pass));
    CUBEJIT_RETURN_IF_ERROR(checkProblem(problem));
    CUBEJIT_TRY(choice, choosePlanWithin(problem, pass, machine, explain, WeightsUse::kEachRun, state_->options));
    PlanReport report;
    report.plan = choice.plan;
    CUBEJIT_TRY(found, findPlan(problem, pass, machine, state_->options));
    report.source = found.source;
    report.sourceNote = found.note;
    if (found.plan) {
      report.plan = *found.plan;
      const std::vector<std::string> broken = checkPlan(problem, report.plan, machine);
      if (!broken.empty())
        return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan,
                     std::string("the plan of ") + toString(found.source) + " is not legal: " + broken.front()};
      choice.cost = planCost(problem, report.plan, machine);
    }
    report.singleShape = singleShapeOf(problem, report.plan);
    report.copies = copiesOf(problem, report.plan);
    report.predictedCycles = choice.cost.totalCycles;
    report.bound = choice.cost.bound;
    for (const Candidate& c : choice.considered) {
      report.candidates.push_back(PlanCandidate{c.plan, c.cost.totalCycles, c.cost.computeCycles, c.cost.memoryCycles,
                                                c.cost.moveCycles, c.cost.callCycles, c.cost.bound, c.refusedBy});
    }
    CUBEJIT_TRY(tile, lower(problem, report.plan, machine));
    report.workspaceBytes = static_cast<std::size_t>(workspaceOf(tile).bytes.on(threadsOf(state_->options)));
    return report;
  });
}

Result<CallReport> Session::planCall(const CompileRequest& request) const {
  return asked(*this, Stage::kPlan, [&]() -> Result<CallReport> {
    const Machine& machine = state_->machine;
    CUBEJIT_TRY(sourced, state_->sourcedRequest(request));
    CUBEJIT_TRY(call, cubejit::planCall(sourced.request, machine, state_->options));
    CUBEJIT_TRY(lowered, lowerCall(sourced.request, call, machine));
    CallReport report;
    report.plans = call.interleaving.plans;
    report.converted = call.converted;
    for (const TensorId t : call.converted) report.copies.push_back({t, formatBytes(call.problem, t)});
    for (const TilingPlan& plan : call.interleaving.plans) {
      for (const TensorCopy& copy : copiesOf(call.problem, plan)) report.copies.push_back(copy);
    }
    report.interleaves = lowered.together.has_value();
    report.workspaceBytes = static_cast<std::size_t>(workspaceOf(lowered).on(threadsOf(state_->options)));
    return report;
  });
}

CacheStatistics Session::statistics() const {
  return state_ == nullptr ? CacheStatistics{} : state_->executables.statistics();
}

void Session::clear() {
  if (state_ != nullptr) state_->executables.clear();
}

const char* version() { return CUBEJIT_VERSION; }

}  // namespace cubejit
