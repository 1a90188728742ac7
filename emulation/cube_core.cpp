// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a core lives: a task is checked, its instructions run one after the other on the core's memory and clock, blocks leave.
#include "emulation/cube_core.h"

#include <algorithm>

#include "emulation/core_state.h"
#include "tiling/npu/cube_rules.h"

namespace cubejit {
namespace {

Error refuse(const std::string& rule) { return Error{ErrorCode::kInvalidProblem, Stage::kRun, rule}; }

void range(std::string& broken, const char* field, std::int64_t value, std::int64_t end) {
  if (value >= 0 && value < end) return;
  broken += std::string(broken.empty() ? "" : "\n") + field + " = " + std::to_string(value) + " must be 0 to " +
            std::to_string(end - 1);
}

void grid(std::string& broken, const char* field, std::int64_t value, std::int64_t unit) {
  if (value % unit == 0) return;
  broken += std::string(broken.empty() ? "" : "\n") + field + " = " + std::to_string(value) +
            " must be a multiple of " + std::to_string(unit);
}

// Rules of a task by itself; then those of its tiling, with the task's extents.
Status checkTask(const CubeJob& job, const CoreTask& task) {
  const CubeWork& w = job.work;
  const bool dx = w.gradient == Gradient::kDx;
  std::string broken;
  range(broken, "image", task.image, w.batch);
  range(broken, "group", task.group, w.groups.count);
  range(broken, "depth", task.depth, w.pixels.d);
  if (!dx) range(broken, "tap depth", task.tapDepth, w.kernel.d);
  range(broken, "start m", task.start.m, w.gemm.m);
  range(broken, "start k", task.start.k, w.gemm.k * (dx ? w.kernel.d : 1));
  range(broken, "start n", task.start.n, w.gemm.n);
  const std::int64_t pixels = dx ? task.extent.m : task.extent.k;
  if (pixels >= w.row()) grid(broken, dx ? "start m" : "start k", dx ? task.start.m : task.start.k, w.row());
  if (dx) {
    grid(broken, "start k", task.start.k, w.blockUnit() * w.kernel.d);
    grid(broken, "start n", task.start.n, w.c0);
  } else {
    grid(broken, "start m", task.start.m, 16);
    grid(broken, "start n", task.start.n, w.blockUnit());
  }
  for (const auto& [field, value] : {std::pair<const char*, std::int64_t>{"single shape m", task.extent.m},
                                     {"single shape k", task.extent.k},
                                     {"single shape n", task.extent.n}}) {
    if (value < 1)
      broken += std::string(broken.empty() ? "" : "\n") + field + " = " + std::to_string(value) + " must be at least 1";
  }
  if (!broken.empty()) return refuse(broken);
  return Unit{};
}

Status checkTiling(const CubeJob& job, const CoreTask& task) {
  const CubeWork& w = job.work;
  const bool dx = w.gradient == Gradient::kDx;
  const TaskExtent cut = cutTask(job, task);
  TilingPlan plan = job.plan;
  plan.cube().singleShape = cut.count;
  if (dx) plan.cube().singleShape.k *= w.kernel.d;
  if (plan.cube().singleShape == job.plan.cube().singleShape) return Unit{};  // checked when the job was made
  plan.cube().cores = splitOf(w, plan.cube().singleShape);
  std::vector<std::string> rules;
  if (plan.cube().cores.reduction > 1 && dx) {  // parts of a sum may be added by the caller
    CubeWork parts = w;
    parts.resultBytes = 4;
    rules = checkCubePlan(parts, plan, job.machine);
  } else {
    rules = checkCubePlan(w, plan, job.machine);
  }
  std::string broken;
  for (const std::string& rule : rules) broken += (broken.empty() ? "" : "\n") + rule;
  if (!broken.empty()) return refuse(broken);
  return Unit{};
}

}  // namespace

CubeCore::CubeCore() = default;
CubeCore::~CubeCore() = default;

Result<std::unique_ptr<CubeCore>> CubeCore::create(const Machine& machine, int index, const UnitCode* code) {
  std::unique_ptr<CubeCore> core(new CubeCore);
  core->state_ = std::make_unique<State>(machine, index, code);
  if (!core->state_->memory.complete() || !core->state_->panels.complete())
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, "no memory for the buffers of a core of " + machine.name};
  return core;
}

int CubeCore::index() const { return state_->index; }
void CubeCore::becomes(int index) { state_->index = index; }
const CubeBlock& CubeCore::block() const { return state_->block; }

CoreCounts CubeCore::takeCounts() {
  state_->endTask();
  const CoreCounts taken = state_->counts;
  state_->counts = CoreCounts{};
  return taken;
}

void CubeCore::forward(bool on) { state_->forwarding = on; }
void CubeCore::operandsHold(bool hold) {
  state_->operandsHold = hold;
  state_->keptA.clear();
  state_->keptB.clear();
}
void CubeCore::keepEvents(bool keep) { state_->keepEvents = keep; }
const std::vector<TraceEvent>& CubeCore::events() const { return state_->clock.events(); }

Error CubeCore::State::located(Error error) const {
  std::string where = "core " + std::to_string(index);
  if (block.m > 0) where += ", block (m " + std::to_string(block.mIndex) + ", n " + std::to_string(block.nIndex) + ")";
  error.message = where + ": " + error.message;
  return error;
}

Status CubeCore::begin(const CubeJob& job, const GlobalOperands& operands, const CoreTask& task) {
  State& s = *state_;
  s.endTask();
  s.job = nullptr;
  s.block = CubeBlock{};
  for (const Status& step : {checkTask(job, task)}) {
    if (!step.ok()) return s.located(step.error());
  }
  if (const Status tiling = checkTiling(job, task); !tiling.ok()) return s.located(tiling.error());
  if (const Status filled = fillTables(job, operands, task, s.tables); !filled.ok()) return s.located(filled.error());
  s.job = &job;
  s.task = task;
  s.ranges.clear();
  s.prepareLoads();
  s.prepareForwarding(operands);
  s.stream = BlockStream(job, task);
  if (s.clockFor != job.work.type) s.clock = Clock(s.machine, job.work.type);
  s.clockFor = job.work.type;
  s.clock.keepEvents(s.keepEvents);
  s.clock.beginTask();
  s.taskOpen = true;
  ++s.counts.tasks;
  return Unit{};
}

Result<bool> CubeCore::iterate() {
  State& s = *state_;
  if (s.job == nullptr) return s.located(refuse("no task has begun; begin one before iterating"));
  if (!s.stream.next(s.block, s.program)) {
    s.block = CubeBlock{};
    return false;
  }
  ++(s.block.computed ? s.counts.blocks : s.counts.skipped);
  if (!s.block.computed) return true;
  const UnitContext context{s.job->work, s.tables};
  s.addedSingly = false;
  const ForwardedProgram steps = s.steps(context);
  s.inOrder = s.seenInOrder(steps);
  for (const ForwardStep& step : steps) {
    if (const Status fits = s.claim(step.instruction, context); !fits.ok()) return s.located(fits.error());
    s.execute(step, context);
    s.clock.run(step.instruction, context, s.counts);
  }
  if (s.inOrder)
    orderByPixels(*s.code, s.panels.seen, ceilDiv(s.block.n, 16), s.memory.l0c(s.stream.l0c()), s.panels.sums.get());
  return true;
}

float CubeCore::sum(std::int64_t m, std::int64_t n) const {
  const State& s = *state_;
  if (!s.block.computed) return 0;
  const auto* sums = reinterpret_cast<const float*>(s.memory.at(CoreBuffer::kL0c, s.stream.l0c()));
  return sums[(n / 16 * roundUp(s.block.m, 16) + m) * 16 + n % 16];
}

Status CubeCore::write(const BlockTarget& target) {
  State& s = *state_;
  if (s.job == nullptr || s.block.m == 0) return s.located(refuse("there is no block; iterate before writing"));
  if (!s.block.computed && (!target.writeSkipped || (target.add && !target.fresh))) return Unit{};
  const auto places = placesOf(*s.job, s.task, s.block, target);
  if (!places.ok()) return s.located(places.error());
  if (!s.block.computed) {
    const std::int64_t written = zeroOut(s.block, target, *places, s.memory, s.code);
    if (!target.add)  // zeroes that are added to are written beforehand, and counted there
      s.clock.vector("zero, ub_to_gm", 0, written * byteSize(target.view.type), s.counts);
    return Unit{};
  }
  wrote(moveOut(*s.job, s.block, s.stream.l0c(), target, *places, s.memory, s.code), target.view.type);
  return Unit{};
}

void CubeCore::wrote(std::int64_t elements, DType type) {
  State& s = *state_;
  if (!s.machine.npu.fixpipe) {
    const std::int64_t strip = s.block.m * 16 * (4 + byteSize(type)) * 2;
    s.note(CoreBuffer::kUb, std::min(strip, s.machine.buffers.ubBytes));
  }
  const std::int64_t sums = roundUp(s.block.m, 16) * roundUp(s.block.n, 16);
  s.clock.moveOut(s.stream.l0c(), sums, s.block.m * roundUp(s.block.n, 16), elements * byteSize(type), s.counts);
}

}  // namespace cubejit
