// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what of a program is kept, and for how many jobs.
#include "runtime/cores/task_code.h"

#include <algorithm>
#include <list>

#include "emulation/exact_touch.h"
#include "runtime/chip/chip_transforms.h"
#include "runtime/diagnose/follow.h"
#include "runtime/pipeline/compile.h"

namespace cubejit {
namespace {

constexpr std::size_t kMostJobs = 128;

void addReads(const TileProgram& tile, std::array<std::vector<ByteRange>, 2>& reads) {
  ExactTouch exact(tile);
  for (const Phase& phase : tile.phases) {
    for (const Node& node : phase.body) {
      if (node.call.a < 0) continue;
      const Stream& stream = phase.streams[static_cast<std::size_t>(node.call.a)];
      if (stream.buffer > 1) continue;
      exact.visit(node.call, CallOperand::kA, stream.offset, [&](ByteRange r) {
        reads[static_cast<std::size_t>(stream.buffer)].push_back(r);
        return true;
      });
    }
  }
  for (auto& ranges : reads) joinRanges(ranges);
}

Result<std::shared_ptr<const TaskCode>> make(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task,
                                             const HostIsa& isa, const Options& options, const CubeShortcuts& allowed) {
  // Counts are the chip's, whatever a fast program leaves out.
  CUBEJIT_TRY(lowered, lowerTask(job, tensors, task, isa.lanes(), options.elideCopies ? CubeShortcuts{} : allowed));
  auto code = std::make_shared<TaskCode>();
  ProgramTouch touch(lowered.tile);
  for (const TaskBlock& block : lowered.blocks) {
    code->instructions.emplace_back();
    if (block.compute < 0) continue;
    const Phase& phase = lowered.tile.phases[static_cast<std::size_t>(block.compute)];
    code->instructions.back() = instructionsOf(touch, phase, phase.body, {0, static_cast<int>(phase.body.size())});
  }
  if (options.sanitize) addReads(lowered.tile, code->reads);
  if (options.elideCopies) {
    CUBEJIT_TRY(shorter, lowerTask(job, tensors, task, isa.lanes(), allowed));
    lowered = std::move(shorter);
    lowered.tile = withoutCopies(std::move(lowered.tile));
  }
  code->blocks = std::move(lowered.blocks);
  code->image = lowered.image;
  code->other = lowered.other;
  code->l0c = lowered.l0c;
  if (lowered.tile.phases.empty()) return std::shared_ptr<const TaskCode>(std::move(code));
  Machine machine = job.machine;
  machine.isa = isa;
  machine.isa.bf16Dot = allowed.pairs;
  CUBEJIT_TRY(executable, compileLowered(job.problem, job.plan, std::move(lowered.tile), machine, options));
  Executable::State& state = executable->state();
  state.options.diagnostics.dumpStages.clear();  // a dump tells of whole passes
  CUBEJIT_RETURN_IF_ERROR(followLoad(state, machine));
  state.parts.front()->tile.phases = {};  // the launch has its own form of them
  code->executable = std::move(executable);
  return std::shared_ptr<const TaskCode>(std::move(code));
}

}  // namespace

Result<std::shared_ptr<const TaskCode>> KernelJob::codeOf(const CoreTask& task, const TaskPlace& place,
                                                          const HostIsa& isa, const Options& options,
                                                          const CubeShortcuts& allowed) {
  std::vector<std::int64_t> key = place.like;
  key.insert(key.end(), {static_cast<std::int64_t>(isa.level), static_cast<std::int64_t>(options.backend),
                         options.elideCopies, options.sanitize, allowed.leavesOutZeros, allowed.pairs});
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
  const auto find = [&] {                                                     // under the lock
    const auto known = std::find_if(jobs.begin(), jobs.end(), [&](const auto& job) { return job.first == key; });
    if (known != jobs.end()) jobs.splice(jobs.begin(), jobs, known);
    return known != jobs.end();
  };
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (find()) return jobs.front().second;
  }
  CUBEJIT_TRY(made, make());
  const std::lock_guard<std::mutex> lock(mutex);
  if (find()) return jobs.front().second;  // another thread was faster
  jobs.emplace_front(key, std::make_shared<KernelJob>(std::move(made.first), made.second));
  if (jobs.size() > kMostJobs) jobs.pop_back();
  return jobs.front().second;
}

}  // namespace cubejit
