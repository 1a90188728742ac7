// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of a program is kept, and for how many jobs.
#include "runtime/task_code.h"

#include <algorithm>
#include <list>

#include "runtime/chip_passes.h"
#include "runtime/compile.h"
#include "runtime/diagnose/follow.h"
#include "runtime/load_programs.h"

namespace cubejit {
namespace {

constexpr std::size_t kMostJobs = 128;

Result<std::shared_ptr<const TaskCode>> make(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task,
                                             const HostIsa& isa, const Options& options, const CubeShortcuts& allowed) {
  const int lanes = isa.lanes();
  CUBEJIT_TRY(lowered, lowerTask(job, tensors, task, lanes));
  auto code = std::make_shared<TaskCode>();
  code->blocks = lowered.blocks;
  ProgramTouch touch(lowered.tile);
  for (const TaskBlock& block : lowered.blocks) {
    code->instructions.emplace_back();
    if (block.compute < 0) continue;
    const Phase& phase = lowered.tile.phases[static_cast<std::size_t>(block.compute)];
    code->instructions.back() = instructionsOf(touch, phase, phase.body, {0, static_cast<int>(phase.body.size())});
  }
  if (options.forwardCopies || allowed.pairs) {  // counts are the chip's, whatever the host leaves out
    CUBEJIT_TRY(shorter, lowerTask(job, tensors, task, lanes, allowed));
    lowered = std::move(shorter);
    if (options.forwardCopies) lowered.tile = withoutCopies(std::move(lowered.tile));
  }
  code->image = lowered.image;
  code->other = lowered.other;
  const std::vector<Buffer>& buffers = lowered.tile.buffers;
  code->imageRole = buffers[0].role;
  code->otherRole = buffers[1].role;
  code->resultRole = buffers[2].role;
  const auto l0c = std::find_if(buffers.begin(), buffers.end(),
                                [](const Buffer& b) { return b.name == toString(CoreBuffer::kL0c); });
  code->l0c = static_cast<int>(l0c - buffers.begin());
  if (lowered.tile.phases.empty()) return std::shared_ptr<const TaskCode>(std::move(code));
  Machine machine = job.machine;
  machine.isa = isa;
  machine.isa.bf16Dot = allowed.pairs;
  auto executable = std::make_shared<Executable>();
  Executable::State& state = executable->state();
  const Gradient gradient = job.work.gradient;
  state.describe({job.problem, {gradient == Gradient::kDx, gradient == Gradient::kDw, false}, {}}, machine, options);
  LoadedCode loaded;
  CUBEJIT_TRY(program, compileProgram(std::move(lowered.tile), machine, options, loaded));
  program->problem = job.problem;
  program->plan = job.plan;
  state.parts.push_back(std::move(program));
  state.keep(std::move(loaded));
  state.options.diagnostics.dumpStages.clear();  // a dump tells of whole gradients
  CUBEJIT_TRY(followed, followLoad(state, machine));
  static_cast<void>(followed);
  CompiledGradient& part = *state.parts.front();
  part.tile.phases = {};  // the launch has its own form of them
  code->program = part.launch.get();
  code->executable = std::move(executable);
  return std::shared_ptr<const TaskCode>(std::move(code));
}

}  // namespace

Result<std::shared_ptr<const TaskCode>> KernelJob::codeOf(const CoreTask& task, const TaskPlace& place,
                                                          const HostIsa& isa, const Options& options,
                                                          const CubeShortcuts& allowed) {
  std::vector<std::int64_t> key = place.like;
  key.insert(key.end(), {static_cast<std::int64_t>(isa.level), static_cast<std::int64_t>(options.backend),
                         options.forwardCopies, allowed.leavesOutZeros, allowed.pairs});
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Slot>& known = codes_[key];
    if (known == nullptr) known = std::make_shared<Slot>();
    slot = known;
  }
  const std::lock_guard<std::mutex> lock(slot->mutex);
  if (slot->code == nullptr) {
    CUBEJIT_TRY(code, make(job_, tensors_, task, isa, options, allowed));
    slot->code = std::move(code);
  }
  return slot->code;
}

Result<std::shared_ptr<KernelJob>> kernelJob(const std::string& key,
                                             const std::function<Result<std::pair<CubeJob, TaskTensors>>()>& make) {
  static std::mutex mutex;
  static std::list<std::pair<std::string, std::shared_ptr<KernelJob>>> jobs;  // the one asked for last comes first
  const auto find = [&]() -> std::shared_ptr<KernelJob> {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto known = std::find_if(jobs.begin(), jobs.end(), [&](const auto& job) { return job.first == key; });
    if (known == jobs.end()) return nullptr;
    jobs.splice(jobs.begin(), jobs, known);
    return known->second;
  };
  if (std::shared_ptr<KernelJob> known = find()) return known;
  CUBEJIT_TRY(made, make());
  if (std::shared_ptr<KernelJob> known = find()) return known;  // another thread was faster
  const std::lock_guard<std::mutex> lock(mutex);
  jobs.emplace_front(key, std::make_shared<KernelJob>(std::move(made.first), made.second));
  if (jobs.size() > kMostJobs) jobs.pop_back();
  return jobs.front().second;
}

}  // namespace cubejit
