// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a session remembers: executables by problem and gradients, generated once even if many threads ask at once,
// the least recently used dropped first. Failures are not remembered.
#include <algorithm>
#include <future>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "codegen/lower.h"
#include "runtime/compile.h"
#include "runtime/problem_key.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {

namespace {

using Compiled = Result<std::shared_ptr<const Executable>>;

Machine machineFor(const Options& options) {
  const std::vector<IsaLevel> runnable = runnableIsas();
  return detectHost(options.isa ? *options.isa : runnable.empty() ? IsaLevel::kAvx2 : runnable.front());
}

}  // namespace

struct Session::State {
  struct Entry {
    std::shared_future<Compiled> result;
    std::list<std::string>::iterator used;  ///< place in `recent`
    std::uint64_t generation = 0;           ///< tells this entry from a later one under the same key
    std::size_t codeBytes = 0;
  };

  explicit State(Options o) : options(std::move(o)), machine(machineFor(options)) {}

  // Precondition: the lock is held.
  void evictBeyondCapacity() {
    while (entries.size() > std::max<std::size_t>(1, options.cacheCapacity)) {
      const auto oldest = entries.find(recent.back());
      statistics.codeBytes -= oldest->second.codeBytes;
      entries.erase(oldest);
      recent.pop_back();
      ++statistics.evictions;
    }
  }

  Options options;
  Machine machine;
  mutable std::mutex mutex;
  std::unordered_map<std::string, Entry> entries;
  std::list<std::string> recent;  ///< most recent first
  CacheStatistics statistics;
  std::uint64_t generations = 0;
};

Session::Session(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Session::~Session() = default;
const Options& Session::options() const { return state_->options; }
const Machine& Session::machine() const { return state_->machine; }

Compiled Session::compile(const Problem& problem, GradientMask gradients) {
  const std::string key = problemKey(problem, gradients);
  std::promise<Compiled> promise;
  std::shared_future<Compiled> result;
  std::uint64_t mine = 0;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto found = state_->entries.find(key);
    if (found != state_->entries.end()) {
      ++state_->statistics.hits;
      state_->recent.splice(state_->recent.begin(), state_->recent, found->second.used);
      result = found->second.result;
    } else {
      ++state_->statistics.misses;
      mine = ++state_->generations;
      state_->recent.push_front(key);
      State::Entry entry;
      entry.result = promise.get_future().share();
      entry.used = state_->recent.begin();
      entry.generation = mine;
      state_->entries.emplace(key, std::move(entry));
      state_->evictBeyondCapacity();
    }
  }
  if (mine == 0) return result.get();
  Compiled compiled = compile(CompileRequest{problem, gradients, {}});
  promise.set_value(compiled);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto entry = state_->entries.find(key);
  if (entry == state_->entries.end() || entry->second.generation != mine) return compiled;
  if (compiled.ok()) {
    for (const KernelView& kernel : (*compiled)->kernels()) entry->second.codeBytes += kernel.bytes.size();
    state_->statistics.codeBytes += entry->second.codeBytes;
  } else {
    state_->recent.erase(entry->second.used);
    state_->entries.erase(entry);
  }
  return compiled;
}

Compiled Session::compile(const CompileRequest& request) {
  const std::vector<IsaLevel> runnable = runnableIsas();
  if (state_->options.backend == BackendKind::kXbyak && std::find(runnable.begin(), runnable.end(), state_->machine.isa.level) == runnable.end()) {
    return Error{ErrorCode::kUnsupported, Stage::kLoad,
                 std::string("this CPU or operating system cannot run ") + toString(state_->machine.isa.level) + " code; it can be planned and dumped, or interpreted"};
  }
  if (!request.gradients.any()) return Error{ErrorCode::kInvalidProblem, Stage::kProblem, "no gradient is asked for; choose from dx, dw, db"};
  CUBEJIT_TRY(executable, compileExecutable(request, state_->machine, state_->options));
  return std::shared_ptr<const Executable>(executable);
}

Result<PlanReport> Session::plan(const Problem& problem, Gradient gradient, bool explain) const {
  CUBEJIT_TRY(checked, checkProblem(problem));
  static_cast<void>(checked);
  CUBEJIT_TRY(choice, choosePlan(problem, gradient, state_->machine, explain));
  PlanReport report;
  report.plan = choice.plan;
  report.predictedCycles = choice.cost.totalCycles;
  report.bound = choice.cost.bound;
  for (const Candidate& c : choice.considered) {
    report.candidates.push_back(PlanCandidate{c.plan, c.cost.totalCycles, c.cost.computeCycles, c.cost.memoryCycles, c.cost.moveCycles, c.cost.callCycles, c.cost.bound, c.refusedBy});
  }
  CUBEJIT_TRY(tile, lower(problem, choice.plan, state_->machine));
  KernelRunner runner;
  runner.functions.assign(tile.kernels.size(), nullptr);
  const int threads = state_->options.threads > 0 ? state_->options.threads : defaultThreads();
  report.workspaceBytes = LaunchProgram(tile, runner).workspaceBytes(threads);
  return report;
}

CacheStatistics Session::statistics() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  CacheStatistics s = state_->statistics;
  s.entries = state_->entries.size();
  return s;
}

void Session::clear() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->entries.clear();
  state_->recent.clear();
  state_->statistics.codeBytes = 0;
}

const char* version() { return "0.1.0"; }

}  // namespace cubejit
