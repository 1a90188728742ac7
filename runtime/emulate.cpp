// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the tasks of an emulated gradient reach host threads: a thread stands for whichever core has the task, because a task
// fills every buffer anew. Tasks that add to the same results are one thread's, in order, so threads change no bit.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <tuple>

#include "cubejit/cubejit.hpp"
#include "cubejit/emulation.h"
#include "emulation/bias_sum.h"
#include "emulation/clock.h"
#include "emulation/kept_panels.h"
#include "emulation/move_out.h"
#include "emulation/seen_fractals.h"
#include "runtime/chip_program.h"
#include "runtime/prove_forwarding.h"
#include "runtime/threads.h"
#include "runtime/tuning/plan_source.h"
#include "runtime/unit_loader.h"
#include "runtime/weight_sums.h"
#include "tiling/check_problem.h"
#include "tiling/npu/gradient_tasks.h"
#include "tiling/npu/task_times.h"

namespace cubejit {
namespace {

GlobalView viewOf(const Problem& p, TensorId t, const void* data) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), formatBytes(p, t), formatOf(p, t).dtype, indexMap(p, t)};
}

}  // namespace

struct Emulation::State {
  CubeJob job;                           ///< dx, dw
  std::optional<BiasSum> bias;           ///< db
  std::unique_ptr<ChipProgram> program;  ///< dx, dw
  std::unique_ptr<LoadedUnits> units;    ///< null: scalar models
  bool fast = false;
  Options options;
  std::vector<std::unique_ptr<CubeCore>> cores;  ///< one a slot
  std::optional<WeightSums> sums;                ///< dw: memory that runs share

  int threadsOf(const EmulationRun& how) const {
    return how.threads > 0 ? how.threads : options.threads > 0 ? options.threads : defaultThreads();
  }
  Result<EmulationReport> runBias(const Tensors& tensors, const EmulationRun& how) const;
};

namespace {

// One run: what slots share.
struct Run {
  const CubeJob& job;
  const GradientTasks& tasks;
  GlobalOperands operands;
  std::vector<GlobalView> results;  ///< of each part
  bool add = false;
  const EmulationRun& how;
  std::vector<std::unique_ptr<CubeCore>>& cores;

  // Items that follow each other have operands in common: each slot begins with a range of its own, then helps the others.
  struct Range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::vector<Range> ranges{};
  std::mutex mutex{};
  std::int64_t failedItem = -1;
  std::optional<Error> failure{};

  std::int64_t parts() const { return static_cast<std::int64_t>(results.size()); }
  std::int64_t items() const { return tasks.regions() * parts(); }

  void share(int slots) {
    ranges = std::vector<Range>(static_cast<std::size_t>(slots));
    for (int i = 0; i < slots; ++i) {
      ranges[static_cast<std::size_t>(i)].next = items() * i / slots;
      ranges[static_cast<std::size_t>(i)].end = items() * (i + 1) / slots;
    }
  }
  /// The next item of a slot; -1: there is none.
  std::int64_t take(int slot) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      Range& range = ranges[(static_cast<std::size_t>(slot) + i) % ranges.size()];
      if (range.next >= range.end) continue;
      const std::int64_t item = range.next++;
      if (item < range.end) return item;
    }
    return -1;
  }

  void fail(std::int64_t item, const Error& error) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (failedItem >= 0 && failedItem < item) return;
    failedItem = item;
    failure = error;
  }

  // `first`: nobody has written to these results yet.
  Status runTask(CubeCore& core, std::int64_t index, const GlobalView& result, bool first) {
    const CoreTask task = tasks.task(index);
    CUBEJIT_TRY(begun, core.begin(job, operands, task));
    static_cast<void>(begun);
    BlockTarget target{result, 0, 0, task.group, add, true, first, true};
    while (true) {
      CUBEJIT_TRY(more, core.iterate());
      if (!more) return Unit{};
      CUBEJIT_TRY(written, core.write(target));
      static_cast<void>(written);
    }
  }

  void work(int slot) {
    CubeCore& core = *cores[static_cast<std::size_t>(slot)];
    for (std::int64_t item = take(slot); item >= 0; item = take(slot)) {
      const std::int64_t region = item / parts(), part = item % parts(), sums = tasks.sums();
      for (std::int64_t s = part * sums / parts(); s < (part + 1) * sums / parts(); ++s) {
        const std::int64_t index = tasks.taskOf(region, s);
        core.becomes(tasks.coreOf(index));
        const bool first = s == part * sums / parts();
        const Status done = runTask(core, index, results[static_cast<std::size_t>(part)], first);
        if (!done.ok()) {
          fail(item, done.error());
          return;
        }
      }
    }
  }
};

// db: channel blocks are the tasks, dealt to cores in turn.
struct BiasRun {
  const BiasSum& job;
  const UnitCode* code;
  GlobalView dy, db;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex{};
  std::vector<CoreCounts> counts{};

  void work() {
    CoreMemory memory(job.machine.buffers);
    if (!memory.complete()) return;
    for (std::int64_t task = next++; task < job.tasks(); task = next++) {
      CoreCounts counted;
      runBiasTask(job, dy, db, task, memory, counted, code);
      const std::lock_guard<std::mutex> lock(mutex);
      counts[static_cast<std::size_t>(task % job.machine.cores)].add(counted);
    }
  }
};

}  // namespace

Result<EmulationReport> Emulation::State::runBias(const Tensors& tensors, const EmulationRun& how) const {
  if (tensors.dy == nullptr || tensors.db == nullptr)
    return Error{ErrorCode::kInvalidProblem, Stage::kRun, tensors.dy == nullptr ? "dy is null" : "db is null"};
  const Problem& p = bias->problem;
  BiasRun run{*bias, units == nullptr ? nullptr : &units->code, viewOf(p, TensorId::kDy, tensors.dy),
              viewOf(p, TensorId::kDb, tensors.db)};
  run.counts.resize(static_cast<std::size_t>(bias->machine.cores));
  const int slots = static_cast<int>(std::clamp<std::int64_t>(bias->tasks(), 1, threadsOf(how)));
  runSlots(
      options.parallelFor, options.pinThreads, slots,
      [](void* context, int) { static_cast<BiasRun*>(context)->work(); }, &run);
  return reportOf(std::move(run.counts), bias->machine);
}

Emulation::Emulation() = default;
Emulation::~Emulation() = default;
const TilingPlan& Emulation::plan() const { return state_->job.plan; }

Result<std::unique_ptr<Emulation>> Emulation::create(const EmulationRequest& request, const Options& options) {
  std::unique_ptr<Emulation> emulation(new Emulation);
  emulation->state_ = std::make_unique<State>();
  emulation->state_->options = options;
  if (request.gradient == Gradient::kDb) {
    const Status legal = checkProblem(request.problem);
    if (!legal.ok()) return legal.error();
    CUBEJIT_TRY(bias, makeBiasSum(request.problem, request.machine));
    emulation->state_->bias = std::move(bias);
    if (!request.scalarModels) {
      const DType dy = formatOf(request.problem, TensorId::kDy).dtype;
      CUBEJIT_TRY(units, loadUnits(isHf32(dy) ? DType::kF32 : dy, options));
      emulation->state_->units = std::move(units);
    }
    emulation->state_->job.plan.gradient = Gradient::kDb;
    return emulation;
  }
  TilingPlan plan;
  if (request.plan.has_value()) {
    plan = *request.plan;
    if (plan.gradient != request.gradient)
      return Error{ErrorCode::kInvalidProblem, Stage::kPlan,
                   std::string("the plan is one of ") + cubejit::toString(plan.gradient) + ", not of " +
                       cubejit::toString(request.gradient)};
    const std::vector<std::string> broken = checkOnNpu(request.problem, plan, request.machine);
    std::string message;
    for (const std::string& rule : broken) message += (message.empty() ? "" : "\n") + rule;
    if (!broken.empty()) return Error{ErrorCode::kInvalidProblem, Stage::kPlan, message};
  } else {
    CUBEJIT_TRY(report, planOnNpu(request.problem, request.gradient, request.machine));
    CUBEJIT_TRY(found, findPlan(request.problem, request.gradient, request.machine, options));
    plan = found.plan ? *found.plan : report.plan;
  }
  CUBEJIT_TRY(job, makeCubeJob(request.problem, plan, request.machine, false));
  State& state = *emulation->state_;
  state.fast = request.fast;
  state.job = std::move(job);
  CUBEJIT_TRY(program, ChipProgram::create(state.job, options, !request.scalarModels && !request.fast));
  state.program = std::move(program);
  if (!request.scalarModels && request.fast) {
    CUBEJIT_TRY(units, loadUnits(state.job.work.type, options));
    state.units = std::move(units);
  }
  return emulation;
}

Result<std::int64_t> Emulation::proveForwarding(std::int64_t most) const {
  if (state_->bias.has_value()) return std::int64_t{0};
  return cubejit::proveForwarding(state_->job, state_->options, most);
}

Result<EmulationReport> Emulation::run(const Tensors& tensors, const EmulationRun& how) {
  State& s = *state_;
  if (s.bias.has_value()) return s.runBias(tensors, how);
  const Problem& p = s.job.problem;
  const bool dx = s.job.plan.gradient == Gradient::kDx;
  if ((dx ? tensors.dx : tensors.dw) == nullptr)
    return Error{ErrorCode::kInvalidProblem, Stage::kRun, dx ? "dx is null" : "dw is null"};
  if (s.program->runs()) {
    for (const auto& [name, data, needed] :
         {std::tuple{"dy", tensors.dy, true}, std::tuple{"w", tensors.w, dx}, std::tuple{"x", tensors.x, !dx}}) {
      if (needed && data == nullptr)
        return Error{ErrorCode::kInvalidProblem, Stage::kRun, std::string(name) + " is null; set it before the run"};
    }
    CUBEJIT_TRY(ran, s.program->run(tensors, s.options, s.threadsOf(how)));
    static_cast<void>(ran);
    return s.program->report(how.trace, how.mostEvents);
  }
  const bool pairs = s.units != nullptr && s.units->code.dots;
  const GradientTasks tasks(s.job, s.fast && reuseOf(s.job, pairs).channelsOutside);
  const GlobalView result = viewOf(p, dx ? TensorId::kDx : TensorId::kDw, dx ? tensors.dx : tensors.dw);
  GlobalOperands operands{viewOf(p, TensorId::kDy, tensors.dy), viewOf(p, TensorId::kX, tensors.x),
                          viewOf(p, TensorId::kW, tensors.w)};
  if ((s.fast && leavesFractalsUnseen(s.job.work)) || pairs) {
    for (GlobalView* view : {&operands.dy, dx ? &operands.w : &operands.x}) {
      if (view->data != nullptr && byteSize(view->type) == s.job.work.elementBytes)  // else the task is refused
        view->range = rangeOf(view->data, view->bytes / byteSize(view->type), s.job.work.type);
    }
  }
  const bool add = !dx || tasks.sums() > 1;
  Run run{s.job, tasks, operands, {}, add, how, s.cores};
  // Blocks of channels that are not the chip's have padding that no task reaches.
  const bool otherBlocks =
      result.map.padded && formatOf(p, dx ? TensorId::kDx : TensorId::kDw).blockChannels() != s.job.work.c0;
  if ((dx && add) || otherBlocks || (!dx && result.map.padded)) {
    if (s.units != nullptr)
      zeroMemory(s.units->code, {result.data, result.type}, result.bytes);
    else
      std::memset(result.data, 0, static_cast<std::size_t>(result.bytes));
  }
  if (dx) {
    run.results.push_back(result);
  } else {
    const std::int64_t parts = tasks.parts();
    if (!s.sums.has_value()) {
      CUBEJIT_TRY(made, WeightSums::create(s.job, parts));
      s.sums = std::move(made);
    }
    for (std::int64_t part = 0; part < parts; ++part) run.results.push_back(s.sums->view(part));
  }
  const int slots = static_cast<int>(std::clamp<std::int64_t>(run.items(), 1, s.threadsOf(how)));
  while (static_cast<int>(s.cores.size()) < slots) {
    CUBEJIT_TRY(core, CubeCore::create(s.job.machine, static_cast<int>(s.cores.size()),
                                       s.units == nullptr ? nullptr : &s.units->code));
    core->forward(s.fast);
    s.cores.push_back(std::move(core));
  }
  for (const auto& core : s.cores) core->operandsHold(true);
  run.share(slots);
  runSlots(
      s.options.parallelFor, s.options.pinThreads, slots,
      [](void* context, int slot) { static_cast<Run*>(context)->work(slot); }, &run);
  if (run.failure.has_value()) return *run.failure;
  if (!dx)
    s.sums->finish(result, s.units == nullptr ? nullptr : &s.units->code, s.options.parallelFor, s.threadsOf(how));
  return s.program->report(how.trace, how.mostEvents);
}

}  // namespace cubejit
