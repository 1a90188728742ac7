// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a core lives: a task is checked, its instructions run one after the other on the core's memory, blocks leave.
#include "tests/support/unit_models/cube_core.h"

#include <string>

#include "algorithms/cube/block_stream.h"
#include "algorithms/cube/task_rules.h"
#include "tests/support/unit_models/move_out.h"
#include "tests/support/unit_models/unit_models.h"
#include "tiling/rule_lines.h"

namespace cubejit {
namespace {

struct Destination {
  CoreBuffer buffer;
  std::int64_t begin, bytes;
};

Destination destinationOf(const UnitInstruction& instruction, const UnitContext& c) {
  if (const auto* i = std::get_if<LoadImage>(&instruction)) return {CoreBuffer::kL1, i->l1, bytesOf(*i, c)};
  if (const auto* i = std::get_if<LoadWeights>(&instruction)) return {CoreBuffer::kL1, i->l1, bytesOf(*i, c)};
  if (const auto* i = std::get_if<LoadPixels>(&instruction)) return {CoreBuffer::kL1, i->l1, bytesOf(*i, c)};
  const auto l0 = [](L0Side side) { return side == L0Side::kA ? CoreBuffer::kL0a : CoreBuffer::kL0b; };
  if (const auto* i = std::get_if<Unfold>(&instruction)) return {l0(i->side), i->l0, bytesOf(*i, c)};
  if (const auto* i = std::get_if<LoadFractals>(&instruction)) return {l0(i->side), i->l0, bytesOf(*i, c)};
  const auto& i = *std::get_if<Mmad>(&instruction);
  return {CoreBuffer::kL0c, i.l0c, bytesOf(i, c)};
}

}  // namespace

struct CubeCore::State {
  State(const Machine& machine, int i) : index(i), memory(machine.buffers) {}

  int index;
  CoreMemory memory;
  OperandTables tables;
  const CubeJob* job = nullptr;
  CoreTask task;
  BlockStream stream;
  CubeBlock block;
  UnitProgram program;

  /// Says where an error happened.
  Error located(Error error) const {
    std::string where = "core " + std::to_string(index);
    if (block.m > 0)
      where += ", block (m " + std::to_string(block.mIndex) + ", n " + std::to_string(block.nIndex) + ")";
    error.message = where + ": " + error.message;
    return error;
  }

  /// The destination of an instruction lies within its buffer.
  Status claim(const UnitInstruction& instruction, const UnitContext& context) const {
    const Destination to = destinationOf(instruction, context);
    const std::int64_t end = to.buffer == CoreBuffer::kL1 ? std::min(stream.endInL1(to.begin), memory.bytes(to.buffer))
                                                          : memory.bytes(to.buffer);
    if (to.begin >= 0 && to.begin + to.bytes <= end) return Unit{};
    return Error{ErrorCode::kInternal, Stage::kRun,
                 std::string(cubejit::toString(to.buffer)) + " ends at " + std::to_string(end) + " there, but '" +
                     cubejit::toString(instruction) + "' writes up to " + std::to_string(to.begin + to.bytes)};
  }
};

CubeCore::CubeCore() = default;
CubeCore::~CubeCore() = default;

Result<std::unique_ptr<CubeCore>> CubeCore::create(const Machine& machine, int index) {
  std::unique_ptr<CubeCore> core(new CubeCore);
  core->state_ = std::make_unique<State>(machine, index);
  if (!core->state_->memory.complete())
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, "no memory for the buffers of a core of " + machine.name};
  return core;
}

void CubeCore::becomes(int index) { state_->index = index; }
const CubeBlock& CubeCore::block() const { return state_->block; }

Status CubeCore::begin(const CubeJob& job, const GlobalOperands& operands, const CoreTask& task) {
  State& s = *state_;
  s.job = nullptr;
  s.block = CubeBlock{};
  if (const auto broken = taskRules(job, task); !broken.empty())
    return s.located(invalidInput(inLines(broken), Stage::kRun));
  if (const Status filled = fillTables(job, operands, task, s.tables); !filled.ok()) return s.located(filled.error());
  s.job = &job;
  s.task = task;
  s.stream = BlockStream(job, task);
  return Unit{};
}

Result<bool> CubeCore::iterate() {
  State& s = *state_;
  if (s.job == nullptr) return s.located(invalidInput("no task has begun; begin one before iterating", Stage::kRun));
  if (!s.stream.next(s.block, s.program)) {
    s.block = CubeBlock{};
    return false;
  }
  if (!s.block.computed) return true;
  const UnitContext context{s.job->work, s.tables};
  for (const UnitInstruction& instruction : s.program) {
    if (const Status fits = s.claim(instruction, context); !fits.ok()) return s.located(fits.error());
    std::visit([&](const auto& i) { execute(i, context, s.memory); }, instruction);
  }
  return true;
}

float CubeCore::sum(std::int64_t m, std::int64_t n) const {
  State& s = *state_;
  return s.block.computed ? s.memory.l0c(s.stream.l0c())[sumInL0c(s.block, m, n)] : 0;
}

Status CubeCore::write(const BlockTarget& target) {
  State& s = *state_;
  if (s.job == nullptr || s.block.m == 0)
    return s.located(invalidInput("there is no block; iterate before writing", Stage::kRun));
  if (!s.block.computed && target.add && !target.fresh) return Unit{};
  const Status moved =
      moveOut(*s.job, s.task, s.block, target, [&](std::int64_t m, std::int64_t n) { return sum(m, n); });
  return moved.ok() ? moved : Status(s.located(moved.error()));
}

}  // namespace cubejit
