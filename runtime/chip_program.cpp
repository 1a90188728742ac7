// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which core of the chip has which task: cores take equal runs of tasks, of the cubes' in the order of gradient_tasks, of a vector
// phase's as they are numbered.
#include "runtime/chip_program.h"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/lower.h"
#include "cubejit/cubejit.hpp"
#include "emulation/program_counts.h"
#include "tiling/npu/block_stream.h"
#include "tiling/npu/cube_rules.h"
#include "tiling/npu/gradient_tasks.h"
#include "tiling/npu/task_times.h"
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
  if (job.work.gradient == Gradient::kDx) {
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
      : cores_(static_cast<std::size_t>(machine.cores)), trace_(trace), most_(mostEvents) {}

  /// `setUp`: cycles of the task that the core has behind it already.
  void add(int core, const CoreCounts& task, const std::vector<TraceEvent>& events, double setUp) {
    CoreCounts& counts = cores_[static_cast<std::size_t>(core)];
    const double start = counts.cycles - setUp;
    counts.add(task);
    counts.cycles -= setUp;
    for (const TraceEvent& event : events) {
      if (!trace_) return;
      if (static_cast<std::int64_t>(events_.size()) >= most_) {
        ++dropped_;
        continue;
      }
      events_.push_back(event);
      events_.back().core = core;
      events_.back().start += start;
      events_.back().end += start;
    }
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
  std::vector<CoreCounts> cores_;
  std::vector<TraceEvent> events_;
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

Result<std::unique_ptr<ChipProgram>> ChipProgram::create(const CubeJob& job, const Options& options, bool runs) {
  std::unique_ptr<ChipProgram> program(new ChipProgram(job));
  Machine host = detectHost(options.isa.value_or(runnableIsas().front()));
  host.isa.bf16Dot = false;  // its conversions and products take denormals for zero; a chip's do not
  CUBEJIT_TRY(tile, lower(job, host.isa.lanes()));
  program->tile_ = std::move(tile);
  if (!runs) return program;
  CUBEJIT_TRY(compiled, compileProgram(std::move(program->tile_), host, options, program->code_));
  program->compiled_ = std::move(compiled);
  return program;
}

Status ChipProgram::run(const Tensors& tensors, const Options& options, int slots) {
  const LaunchProgram& launch = *compiled_->launch;
  const std::size_t bytes = launch.workspaceBytes(slots);
  if (bytes > workspaceBytes_) {
    constexpr std::size_t kLine = 64;
    workspace_.reset(static_cast<char*>(std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine)));
    workspaceBytes_ = workspace_ == nullptr ? 0 : bytes;
    if (workspace_ == nullptr)
      return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                   "no memory for the buffers of " + std::to_string(slots) + " cores of " + job_.machine.name + ", " +
                       std::to_string(bytes) + " bytes; use fewer threads"};
  }
  launch.run(tensors, workspace_.get(), Team{slots, options.parallelFor, options.pinThreads, 0});
  return Unit{};
}

EmulationReport ChipProgram::report(bool trace, std::int64_t mostEvents) {
  if (!trace && counted_) return *counted_;
  const TileProgram& tile = runs() ? compiled_->tile : tile_;
  const Machine& machine = job_.machine;
  Report report(machine, trace, mostEvents);
  const GradientTasks tasks(job_);
  for (const Phase& phase : tile.phases) {
    const PhaseCounts counts(tile, phase, machine, job_.work.type);
    std::vector<std::pair<int, int>> order;  // core and class, in the chip's order
    if (isCubes(phase)) {
      order.resize(static_cast<std::size_t>(tasks.count()));
      counts.eachTask([&](const std::vector<const AxisStep*>& steps, int cls) {
        const std::int64_t index = chipTask(job_, phase, steps);
        order[static_cast<std::size_t>(index)] = {tasks.coreOf(index), cls};
      });
    } else {
      counts.eachTask([&](const std::vector<const AxisStep*>&, int cls) { order.emplace_back(0, cls); });
      const auto all = static_cast<std::int64_t>(order.size());
      for (std::int64_t i = 0; i < all; ++i)
        order[static_cast<std::size_t>(i)].first = static_cast<int>(i * machine.cores / all);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto [core, cls] = order[i];
      const TaskCounts none, &task = cls < 0 ? none : counts.classes()[static_cast<std::size_t>(cls)];
      CoreCounts counted = task.counts;
      if (!isCubes(phase)) {
        report.add(core, counted, task.events, cls < 0 ? 0 : kFirstByteCycles);
        continue;
      }
      ++counted.tasks;
      if (cls < 0) counted.cycles = kFirstByteCycles;
      if (counted.blocks == 0) {
        const Mkn extent = cutTask(job_, tasks.task(static_cast<std::int64_t>(i))).count;
        const Mkn& base = job_.plan.cube().tile.base;
        counted.skipped = ceilDiv(extent.m, base.m) * ceilDiv(extent.n, base.n);
      }
      report.add(core, counted, task.events, 0);
    }
  }
  EmulationReport done = report.take(machine);
  if (!trace) counted_ = done;
  return done;
}

}  // namespace cubejit
