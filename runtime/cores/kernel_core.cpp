// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how phases run on a core's memory, one by one, and what is counted beside them.
#include "runtime/cores/kernel_core.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/cube/task_rules.h"
#include "emulation/exponent_range.h"
#include "runtime/chip/chip_transforms.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/pipeline/compile.h"
#include "tiling/rounding.h"
#include "tiling/rule_lines.h"

namespace cubejit {

struct CoreWorkspace {
  AlignedMemory memory;
  std::size_t bytes = 0;
};

namespace {

Error refuse(std::string rule) { return invalidInput(std::move(rule), Stage::kRun); }

const void* behind(const std::byte* data, std::int64_t bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(bytes));
}

// Those of cores that are gone, for cores to come: the system has given their pages already.
class Workspaces {
 public:
  /// Null without memory.
  CoreWorkspace take(std::size_t bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto fits =
          std::find_if(free_.begin(), free_.end(), [&](const CoreWorkspace& w) { return w.bytes >= bytes; });
      if (fits != free_.end()) {
        std::swap(*fits, free_.back());
        CoreWorkspace taken = std::move(free_.back());
        free_.pop_back();
        kept_ -= taken.bytes;
        return taken;
      }
    }
    return {alignedMemory(bytes), bytes};
  }
  void give(CoreWorkspace workspace) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (workspace.memory == nullptr || kept_ + workspace.bytes > kMost) return;
    const std::size_t bytes = workspace.bytes;
    try {
      free_.push_back(std::move(workspace));
      kept_ += bytes;
    } catch (...) {  // no memory to remember it: it goes
    }
  }

 private:
  static constexpr std::size_t kMost = std::size_t{64} << 20;
  std::mutex mutex_;
  std::vector<CoreWorkspace> free_;
  std::size_t kept_ = 0;
};

Workspaces& workspaces() {
  static Workspaces all;
  return all;
}

}  // namespace

struct KernelCore::State {
  State(const Options& o, int i) : options(o), machine(machineFor(o)), index(i) {}
  ~State() { workspaces().give(std::move(workspace)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Options options;
  const Machine machine;  ///< with the host's ISA
  const int index;
  bool keepEvents = false;
  CoreWorkspace workspace;
  // What belongs to the task:
  std::shared_ptr<KernelJob> job;
  std::shared_ptr<const TaskCode> code;
  CallerBuffers callers;  ///< the image, the other operand, the result
  std::size_t next = 0;   ///< block
  bool open = false;      ///< its time has not been added
  std::optional<CoreCounter> counter;
  DType counterFor = DType::kF16;
  CoreCounts counts;

  const TaskBlock& here() const { return code->blocks[next - 1]; }
  const CompiledPass& part() const { return *code->executable->state().parts.front(); }
  const LaunchProgram& program() const { return *part().launch; }
  /// Whether the image (operand 0) or the other operand (1) is dy.
  bool isDy(std::size_t operand) const { return part().tile.buffers[operand].boundName() == toString(TensorId::kDy); }
  char* l0c() const { return program().sharedBuffer(static_cast<std::size_t>(code->l0c), workspace.memory.get()); }

  Status reserve();
  CubeShortcuts allowed(const TaskOperands& operands) const;
  void endTask();
};

KernelCore::KernelCore(const Options& options, int index) : state_(std::make_unique<State>(options, index)) {}
KernelCore::~KernelCore() = default;

int KernelCore::index() const { return state_->index; }
const CubeBlock& KernelCore::block() const {
  static const CubeBlock kNone;
  return state_->next == 0 ? kNone : state_->here().block;
}
void KernelCore::keepEvents(bool keep) { state_->keepEvents = keep; }
const std::vector<TraceEvent>& KernelCore::events() const {
  static const std::vector<TraceEvent> kNone;
  return state_->counter ? state_->counter->clock.events() : kNone;
}

Status KernelCore::State::reserve() {
  if (code->executable == nullptr) return Unit{};
  const std::size_t bytes = program().workspaceBytes(1);
  if (bytes <= workspace.bytes) return Unit{};
  workspaces().give(std::move(workspace));
  workspace = workspaces().take(bytes);
  if (workspace.memory != nullptr) return Unit{};
  workspace.bytes = 0;
  return Error{ErrorCode::kLimitExceeded, Stage::kRun,
               "no memory for the buffers of a core of " + machine.name + ", " + std::to_string(bytes) + " bytes"};
}

CubeShortcuts KernelCore::State::allowed(const TaskOperands& operands) const {
  const CubeJob& j = job->job();
  const Pass pass = j.work.pass;
  const DType type = j.work.type;
  const CubeShortcuts wanted = shortcutsOf(type, machine.isa.level, options.elideCopies);
  if (!asksValues(wanted, j.problem, pass)) return wanted;
  const auto range = [&](const TaskOperand& o) { return rangeOf(o.read, o.bytes / byteSize(type), type); };
  return allowedOf(wanted, j.problem, pass, range(operands.dy), range(operands.other));
}

Status KernelCore::begin(std::shared_ptr<KernelJob> job, const TaskOperands& operands, const CoreTask& task) {
  State& s = *state_;
  s.endTask();
  s.job = std::move(job);
  s.code = nullptr;
  s.next = 0;
  if (const auto broken = taskRules(s.job->job(), task); !broken.empty()) return refuse(inLines(broken));
  const TaskPlace place = placeOf(s.job->job(), s.job->tensors(), task);
  CUBEJIT_TRY(code, s.job->codeOf(task, place, s.machine.isa, s.options, s.allowed(operands)));
  s.code = std::move(code);
  if (const Status room = s.reserve(); !room.ok()) {
    s.code = nullptr;
    return room;
  }
  if (s.code->executable != nullptr) {
    const auto at = [&](std::size_t operand, std::int64_t offset) {
      return const_cast<void*>(behind((s.isDy(operand) ? operands.dy : operands.other).data, offset));
    };
    s.callers = CallerBuffers{at(0, place.image + s.code->image), at(1, place.other + s.code->other), nullptr};
  }
  const DType type = s.job->job().work.type;
  if (!s.counter || s.counterFor != type) s.counter.emplace(s.machine, s.counterFor = type);
  s.counter->clock.keepEvents(s.keepEvents);
  s.counter->beginTask();
  s.open = true;
  ++s.counts.tasks;
  return Unit{};
}

Result<bool> KernelCore::iterate() {
  State& s = *state_;
  if (s.code == nullptr) return refuse("no task has begun; begin one before iterating");
  if (s.next == s.code->blocks.size()) return false;
  const TaskBlock& block = s.code->blocks[s.next];
  if (block.compute < 0) {
    ++s.counts.skipped;
  } else {
    s.program().runPhase(static_cast<std::size_t>(block.compute), s.callers, s.workspace.memory.get());
    for (const CoreInstruction& instruction : s.code->instructions[s.next]) s.counter->run(instruction);
  }
  ++s.next;
  return true;
}

float KernelCore::sum(std::int64_t m, std::int64_t n) const {
  const State& s = *state_;
  const TaskBlock& here = s.here();
  if (here.compute < 0) return 0;
  return reinterpret_cast<const float*>(s.l0c() + here.l0c)[sumInL0c(here.block, m, n)];
}

bool KernelCore::store(const BlockPitches& pitches, std::int64_t rows, std::int64_t columns, void* to) {
  State& s = *state_;
  const TaskBlock& here = s.here();
  if (here.store < 0 || rows != here.block.m || columns != here.storedColumns || !(pitches == s.job->tensors().result))
    return false;
  const CallerBuffers callers{nullptr, nullptr, to};
  const auto run = [&] {
    s.program().runPhase(static_cast<std::size_t>(here.store), callers, s.workspace.memory.get());
  };
  pitches.adds ? addAlone(run) : run();
  wrote(rows * columns, pitches.type);
  return true;
}

void KernelCore::eachRead(bool dy, const std::function<void(const std::byte*, std::int64_t)>& visit) {
  State& s = *state_;
  if (s.code == nullptr || s.code->executable == nullptr) return;
  for (const std::size_t buffer : {std::size_t{0}, std::size_t{1}}) {
    if (s.isDy(buffer) != dy) continue;
    const void* const base = s.callers[buffer];
    for (const ByteRange& r : s.code->reads[buffer])
      visit(static_cast<const std::byte*>(behind(static_cast<const std::byte*>(base), r.begin)), r.end - r.begin);
  }
}

void KernelCore::addAlone(const std::function<void()>& add) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  add();
}

void KernelCore::wrote(std::int64_t elements, DType type) {
  State& s = *state_;
  const CubeBlock& block = s.here().block;
  CoreCounts& counts = s.counter->counts;
  Clock& clock = s.counter->clock;
  if (!s.machine.npu.fixpipe) {
    const std::int64_t strip = std::min(block.m * 16 * (4 + byteSize(type)) * 2, s.machine.buffers.ubBytes);
    std::int64_t& most = counts.highWater[static_cast<std::size_t>(CoreBuffer::kUb)];
    most = std::max(most, strip);
    clock.fills(CoreBuffer::kUb, {0, strip});
  }
  const std::int64_t columns = roundUp(block.n, 16), sums = roundUp(block.m, 16) * columns, l0c = s.here().l0c;
  clock.reads(CoreBuffer::kL0c, {l0c, l0c + sums * 4});
  clock.moveOut(l0c, sums, block.m * columns, elements * byteSize(type), counts);
}

void KernelCore::State::endTask() {
  if (!open) return;
  counter->counts.cycles += counter->clock.now();
  counts.add(std::exchange(counter->counts, {}));
  open = false;
}

CoreCounts KernelCore::takeCounts() {
  state_->endTask();
  return std::exchange(state_->counts, {});
}

}  // namespace cubejit
