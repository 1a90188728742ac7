// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which core of the chip has which task: cores take equal runs of tasks, of the cubes' in the order of gradient_tasks, of a vector
// phase's as they are numbered.
#include "runtime/chip/chip_report.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/cube/block_stream.h"
#include "algorithms/cube/gradient_tasks.h"
#include "algorithms/cube/job.h"
#include "algorithms/cube/rules.h"
#include "algorithms/cube/task_times.h"
#include "codegen/tile/walk.h"
#include "emulation/program_counts.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// A phase whose body has the cubes' instructions.
bool isCubes(const Phase& phase) { return phase.name == "cube"; }

// The chip's number of a task, from the steps of the program's axes: see algorithms/lower.h for these, gradient_tasks for those.
std::int64_t chipTask(const CubeJob& job, const Phase& phase, const std::vector<const AxisStep*>& steps) {
  const CoreSplit split = splitOf(job.work, job.plan.cube().singleShape);
  const auto step = [&](std::size_t axis) { return std::int64_t{steps[axis] - phase.axes[axis].steps.data()}; };
  const auto count = [&](std::size_t axis) { return static_cast<std::int64_t>(phase.axes[axis].steps.size()); };
  if (job.work.pass == Pass::kDx) {
    std::int64_t index = step(0) / split.channelsN;
    for (std::size_t axis = 1; axis < 5; ++axis) index = index * count(axis) + step(axis);
    return index * split.channelsN + step(0) % split.channelsN;
  }
  const std::int64_t ofGroup = split.channelsN * split.channelsM;
  return ((step(0) / ofGroup * count(2) + step(2)) * count(1) + step(1)) * ofGroup + step(0) % ofGroup;
}

// Where each core is in time, and what it did.
class Report {
 public:
  Report(const Machine& machine, bool trace, std::int64_t mostEvents)
      : cores_(static_cast<std::size_t>(machine.cores)),
        there_(cores_.size()),
        tasks_(cores_.size()),
        trace_(trace),
        most_(mostEvents) {}

  /// `counts`: of the task, or of a piece of one. `setUp`: cycles of it that the core has behind it already. `first`: nothing is in the buffers.
  void add(int core, const CoreCounts& task, const TaskCounts& piece, double setUp, bool first) {
    CoreCounts& counts = cores_[static_cast<std::size_t>(core)];
    const double start = counts.cycles - setUp;
    counts.add(task);
    counts.cycles -= setUp;
    if (trace_) addEvents(core, piece, start, first);
    ++tasks_[static_cast<std::size_t>(core)];
  }
  EmulationReport take(const Machine& machine) {
    EmulationReport report = reportOf(std::move(cores_), machine);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const TraceEvent& a, const TraceEvent& b) { return a.core < b.core; });
    report.trace = std::move(events_);
    report.eventsDropped = dropped_;
    return report;
  }

 private:
  void addEvents(int core, const TaskCounts& piece, double start, bool first) {
    const std::int64_t from = std::ssize(events_);
    Occupancy& there = there_[static_cast<std::size_t>(core)];
    if (first) there.clear();
    for (const BufferPiece& read : piece.before)
      there.eachFill(read.buffer, read.bytes, [&](std::int64_t event) {
        if (event < most_) events_[static_cast<std::size_t>(event)].until = start + read.at;
      });
    there.fillAll(piece.left, from);
    for (const TraceEvent& event : piece.events) {
      if (std::ssize(events_) >= most_) {
        ++dropped_;
        continue;
      }
      events_.push_back(event);
      events_.back().core = core;
      events_.back().task = static_cast<std::int32_t>(tasks_[static_cast<std::size_t>(core)]);
      events_.back().start += start;
      events_.back().end += start;
      events_.back().until += start;
    }
  }

  std::vector<CoreCounts> cores_;
  std::vector<TraceEvent> events_;
  std::vector<Occupancy> there_;  ///< of each core: who filled its buffers; from `most_` on, an event that is left out
  std::vector<std::int64_t> tasks_;  ///< of each core so far
  bool trace_;
  std::int64_t most_, dropped_ = 0;
};

}  // namespace

EmulationReport reportOf(std::vector<CoreCounts> cores, const Machine& machine) {
  EmulationReport report;
  for (const CoreCounts& core : cores) {
    report.total.add(core);
    report.cycles = std::max(report.cycles, core.cycles);
  }
  report.microseconds = machine.npu.mhz > 0 ? report.cycles / machine.npu.mhz : 0;
  report.cores = std::move(cores);
  return report;
}

namespace {

// The cubes' phase: the order of tasks, and which core has which, are the chip's.
void addCubes(const CubeJob& job, const Phase& phase, const PhaseCounts& counts, Report& report) {
  const GradientTasks tasks(job);
  std::vector<int> order(static_cast<std::size_t>(tasks.count()));  // the class of each task
  counts.eachTask([&](const std::vector<const AxisStep*>& steps, int cls) {
    order[static_cast<std::size_t>(chipTask(job, phase, steps))] = cls;
  });
  for (std::int64_t i = 0; i < tasks.count(); ++i) {
    const int cls = order[static_cast<std::size_t>(i)];
    const TaskCounts none, &task = cls < 0 ? none : counts.classes()[static_cast<std::size_t>(cls)];
    CoreCounts counted = task.counts;
    ++counted.tasks;
    if (cls < 0) counted.cycles = kFirstByteCycles;
    if (counted.blocks == 0) {
      const Mkn extent = cutTask(job, tasks.task(i)).count;
      const Mkn& base = job.plan.cube().tile.base;
      counted.skipped = ceilDiv(extent.m, base.m) * ceilDiv(extent.n, base.n);
    }
    report.add(tasks.coreOf(i), counted, task, 0, true);
  }
}

int coreOfVector(const Machine& chip, std::int64_t task, std::int64_t tasks) {
  return static_cast<int>(task * chip.cores / tasks);
}

// A phase of the vector units: cores take equal runs of the tasks as they are numbered. `counted`: they are the pass's own tasks.
void addVectors(const Machine& chip, const Phase& phase, const PhaseCounts& counts, bool counted, Report& report) {
  std::vector<int> order;  // the class of each piece of a task
  counts.eachTask([&](const std::vector<const AxisStep*>&, int cls) { order.push_back(cls); });
  const std::int64_t tasks = taskCount(phase), all = static_cast<std::int64_t>(order.size());
  for (std::int64_t i = 0; i < all; ++i) {
    const int core = coreOfVector(chip, i * tasks / all, tasks);
    const int cls = order[static_cast<std::size_t>(i)];
    const TaskCounts none, &piece = cls < 0 ? none : counts.classes()[static_cast<std::size_t>(cls)];
    CoreCounts done = piece.counts;
    const bool first = i % (all / tasks) == 0;
    if (counted && first) ++done.tasks;
    report.add(core, done, piece, cls < 0 ? 0 : kFirstByteCycles, first);
  }
}

}  // namespace

std::vector<int> coresOfVisits(const Problem& problem, const TilingPlan& plan, const Machine& chip,
                               const Phase& phase) {
  std::vector<int> cores;
  const auto job = isCubes(phase) ? makeCubeJob(problem, plan, chip) : Result<CubeJob>(CubeJob{});
  if (!job.ok()) return cores;
  std::optional<GradientTasks> tasks;
  if (isCubes(phase)) tasks.emplace(*job);
  walkChoices(phase, [&](const ChoiceSite& site) {
    cores.push_back(tasks ? tasks->coreOf(chipTask(*job, phase, *site.steps))
                          : coreOfVector(chip, site.task, taskCount(phase)));
    return true;
  });
  return cores;
}

EmulationReport chipReport(const Problem& problem, const TilingPlan& plan, const Machine& chip, const TileProgram& tile,
                           bool trace, std::int64_t mostEvents) {
  Report report(chip, trace, mostEvents);
  const bool bias = plan.pass == Pass::kDb;
  const auto job = bias ? Result<CubeJob>(CubeJob{}) : makeCubeJob(problem, plan, chip);
  const DType operand = bias || !job.ok() ? chip.npu.cube.products.front().operand : job->work.type;
  for (const Phase& phase : tile.phases) {
    const PhaseCounts counts(tile, phase, chip, operand);
    if (isCubes(phase) && job.ok())
      addCubes(*job, phase, counts, report);
    else
      addVectors(chip, phase, counts, bias, report);
  }
  return report.take(chip);
}

}  // namespace cubejit
