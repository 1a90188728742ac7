// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a run checks before it starts, and what an executable tells about itself.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/tile/origin.h"
#include "codegen/tile/print.h"
#include "codegen/tile/segment_words.h"
#include "codegen/vector/print.h"
#include "cubejit/index_map.h"
#include "runtime/chip/chip_report.h"
#include "runtime/chip/chip_sanitizer.h"
#include "runtime/chip/chip_transforms.h"
#include "runtime/diagnose/report.h"
#include "runtime/diagnose/verbose.h"
#include "runtime/host/overlap.h"
#include "runtime/host/threads.h"
#include "runtime/pipeline/compile.h"
#include "runtime/pipeline/memory_bytes.h"
#include "runtime/pipeline/packed_weights.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct NamedRange {
  const char* name;
  const void* begin;
  std::int64_t bytes, alignment;
  bool written;
};

// What a run reads and writes: at most every tensor, and the workspace. A small layer takes as long as a few allocations would.
struct Ranges {
  std::array<NamedRange, kTensors + 1> all;
  std::size_t count = 0;
  void add(const NamedRange& range) { all[count++] = range; }
  const NamedRange* begin() const { return all.data(); }
  const NamedRange* end() const { return all.data() + count; }
};

Ranges rangesOf(const Executable::State& state, const Tensors& t, std::int64_t packedBytes, const void* workspace,
                std::int64_t workspaceBytes) {
  Ranges ranges;
  const PassMask mask = state.passes;
  const auto add = [&](TensorId id, const void* begin, bool written) {
    const Extent& extent = state.extents[static_cast<std::size_t>(id)];
    ranges.add({toString(id), begin, extent.bytes, extent.alignment, written});
  };
  if (mask.reads(TensorId::kDy)) add(TensorId::kDy, t.dy, false);
  if (mask.reads(TensorId::kX)) add(TensorId::kX, t.x, false);
  if (t.packedW != nullptr)
    ranges.add({"packedW", t.packedW, packedBytes, 1, false});  // aligned as brokenPackedRules() asks
  else if (mask.reads(TensorId::kW))
    add(TensorId::kW, t.w, false);
  if (readSlope(state.problem, mask) && !mask.y) add(TensorId::kY, t.y, false);
  if (mask.y) {
    add(TensorId::kY, t.y, true);
    if (state.problem.postOps.bias) add(TensorId::kB, t.b, false);
    if (state.problem.postOps.add) add(TensorId::kZ, t.z, false);
  }
  if (mask.dx) add(TensorId::kDx, t.dx, true);
  if (mask.dw) add(TensorId::kDw, t.dw, true);
  if (mask.db) add(TensorId::kDb, t.db, true);
  ranges.add({"workspace", workspace, workspaceBytes, 64, true});
  return ranges;
}

// What passes read under a name.
const void*& operand(Tensors& tensors, TensorId t) {
  return t == TensorId::kX ? tensors.x : t == TensorId::kW ? tensors.w : tensors.dy;
}

struct GivenWorkspace {
  void* data;
  std::size_t bytes, needed;
};

// Every rule the operands break, one per line; empty = none.
std::string brokenRules(const Executable::State& state, const Tensors& tensors, std::int64_t packedBytes,
                        const GivenWorkspace& workspace, int slots) {
  std::string broken;
  const auto rule = [&](const std::string& text) { broken += (broken.empty() ? "" : "\n") + text; };
  const Ranges ranges =
      rangesOf(state, tensors, packedBytes, workspace.data, static_cast<std::int64_t>(workspace.needed));
  for (const NamedRange& r : ranges) {
    if (r.begin == nullptr && r.bytes > 0) {
      rule(std::string(r.name) + " is null but " + std::to_string(r.bytes) + " bytes are needed");
    } else if (r.bytes > 0 &&
               reinterpret_cast<std::uintptr_t>(r.begin) % static_cast<std::uintptr_t>(r.alignment) != 0) {
      rule(std::string(r.name) + " is not aligned to " + std::to_string(r.alignment) + " bytes");
    }
  }
  if (workspace.bytes < workspace.needed) {
    rule("workspace has " + std::to_string(workspace.bytes) + " bytes, " + std::to_string(workspace.needed) +
         " are needed for " + std::to_string(slots) + " threads; ask workspaceBytes()");
  }
  for (const NamedRange& r : ranges) {
    for (const NamedRange* other = &r + 1; other != ranges.end(); ++other) {
      if ((r.written || other->written) && r.begin != nullptr && other->begin != nullptr &&
          overlap(r.begin, r.bytes, other->begin, other->bytes))
        rule(std::string(r.name) + " and " + other->name + " overlap; results and workspace need memory of their own");
    }
  }
  return broken;
}

KernelCall callOf(const TileProgram& program, const KernelUse& use) {
  const auto operand = [&](const Place& place) {
    if (place.buffer < 0) return KernelOperand{};
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(place.buffer)];
    return KernelOperand{buffer.name, buffer.bytes, place.offset};
  };
  KernelCall call;
  call.a = operand(use.at[0]);
  call.b = operand(use.at[1]);
  call.c = operand(use.at[2]);
  call.d = operand(use.at[3]);
  if (use.list >= 0) call.list = segmentWords(program.lists[static_cast<std::size_t>(use.list)]);
  call.repeat = use.repeat;
  call.aRepeat = use.repeatStep[0];
  call.bRepeat = use.repeatStep[1];
  call.cRepeat = use.repeatStep[2];
  call.dRepeat = use.repeatStep[3];
  call.accumulate = use.accumulate;
  return call;
}

// What stores past the caches need.
std::int64_t resultAlignmentOf(const Kernel& kernel) {
  const bool streams = std::visit(
      overloaded{[](const OneOf<Contract, Copy, Map> auto& k) { return k.streamingStore; },
                 [](const OneOf<TileProduct, Transpose, Fill, Accumulate, LaneReduce> auto&) { return false; }},
      kernel);
  return streams ? std::int64_t{lanesOf(kernel)} * 4 : 1;
}

}  // namespace

Executable::Executable() : state_(std::make_unique<State>()) {}
Executable::~Executable() = default;

void Executable::State::describe(const CompileRequest& request, const Machine& machine, const Options& chosen) {
  problem = request.problem;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto t = static_cast<TensorId>(i);
    extents[i] = {formatBytes(problem, t), byteSize(formatOf(problem, t).dtype)};
  }
  passes = request.passes;
  options = chosen;
  isa = machine.isa;
  if (machine.isEmulated()) chip = machine;
  threads = threadsOf(options);
}

std::vector<CompiledPass*> Executable::State::programs() const {
  std::vector<CompiledPass*> all;
  for (const SharedTensor& tensor : shared) all.push_back(tensor.program.get());
  for (const auto& part : parts) all.push_back(part.get());
  for (const auto& part : parts) {
    if (part->anyValues != nullptr) all.push_back(part->anyValues.get());
  }
  return all;
}

void Executable::State::measureWorkspace() {
  for (const SharedTensor& tensor : shared) workspace.add(tensor.program->tile);
  std::vector<const TileProgram*> tiles;
  for (const auto& part : parts) {
    tiles.push_back(&part->tile);
    if (part->anyValues != nullptr) workspace.add(part->anyValues->tile);
  }
  workspace.add(tiles, together);
}

void Executable::State::keep(LoadedCode loaded) {
  code = std::move(loaded);
  for (CompiledPass* program : programs()) {
    if (options.timeKernels) program->launch->keepTimes(threads);
  }
  for (const auto& part : parts) launches.push_back(part->launch.get());
}

const Problem& Executable::problem() const { return state_->problem; }
PassMask Executable::passes() const { return state_->passes; }
const HostIsa& Executable::isa() const { return state_->isa; }
int Executable::threads() const { return state_->threads; }
StageTimes Executable::times() const { return state_->times; }

std::size_t Executable::workspaceBytes(int threads, bool packedW) const {
  return static_cast<std::size_t>(state_->workspace.on(slotsOf(threads, state_->threads), packedW));
}

std::size_t Executable::memoryBytes() const { return memoryBytesOf(*state_); }

Status Executable::run(const Tensors& tensors, void* workspace, std::size_t workspaceBytes, int threads) const {
  return withoutThrowing(Stage::kRun, [&]() -> Status {
    const int slots = slotsOf(threads, state_->threads);
    const bool packed = tensors.packedW != nullptr;
    const std::string rules =
        brokenRules(*state_, tensors, packed ? static_cast<std::int64_t>(packedWeightsBytes()) : 0,
                    {workspace, workspaceBytes, this->workspaceBytes(slots, packed)}, slots);
    const std::string broken = threads < 0 ? brokenThreads(threads) + (rules.empty() ? "" : "\n") + rules : rules;
    if (!broken.empty()) return invalidInput(broken, Stage::kRun);
    if (packed && state_->passes.reads(TensorId::kW)) {
      const std::string rule = brokenPackedRules(*this, tensors.packedW);
      if (!rule.empty()) return invalidInput(rule, Stage::kRun);
    }
    const Team team = state_->team(slots);
    const bool profiles = logs(state_->options.diagnostics, Topic::kProfile);
    const bool times = state_->options.timeKernels;
    const auto start = profiles || times ? SteadyClock::now() : SteadyClock::time_point{};
    Tensors seen = tensors;
    const auto keptBy = [&](const CompiledPass& part) { return packedBuffers(*state_, part, tensors.packedW); };
    char* const rest = static_cast<char*>(workspace) + state_->workspace.keptBytes();
    const auto runPart = [&](const CompiledPass& part) {
      const bool careful = part.anyValues != nullptr &&
                           !valuesAllow(part.problem, part.plan, *state_->chip, state_->options.elideCopies, seen);
      const CompiledPass& ran = careful ? *part.anyValues : part;
      ran.launch->run(ran.binding.bind(seen), keptBy(part), rest, team);
    };
    const bool yFirst = state_->passes.y && readSlope(state_->problem, state_->passes);
    for (const SharedTensor& shared : state_->shared) {
      // dy comes last, and is times a slope that is read off y: y, which comes first in the order of passes, is there before.
      if (yFirst && shared.tensor == TensorId::kDy) runPart(*state_->parts.front());
      const void*& taken = operand(seen, shared.tensor);
      void* const made = static_cast<char*>(workspace) + shared.offset;
      // From and to, and what the slope is read off.
      shared.program->launch->run({const_cast<void*>(taken), made, tensors.y}, nullptr, rest, team);
      taken = made;
    }
    if (state_->together) {
      const void* kept = nullptr;
      std::vector<CallerBuffers> callers;
      for (const auto& part : state_->parts) {
        callers.push_back(part->binding.bind(seen));
        if (part->plan.pass == Pass::kDx) kept = keptBy(*part);  // the only one of those that read dy
      }
      LaunchProgram::runBackToBack(state_->launches, *state_->together, callers, kept, rest, team);
    }
    for (std::size_t i = yFirst ? 1 : 0; i < state_->parts.size(); ++i) {
      if (state_->together && state_->together->includes(i)) continue;
      runPart(*state_->parts[i]);
    }
    if (profiles || times) {
      const std::int64_t took =
          std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - start).count();
      if (profiles) reportRun(*state_, took, slots);
      if (times) {
        state_->timedRuns.fetch_add(1, std::memory_order_relaxed);
        state_->timedNs.fetch_add(took, std::memory_order_relaxed);
      }
    }
    return Unit{};
  });
}

TilingPlan Executable::plan(Pass pass) const {
  for (const auto& part : state_->parts) {
    if (part->plan.pass == pass) return part->plan;
  }
  return TilingPlan{};
}

PlanSource Executable::planSource(Pass pass) const {
  for (const auto& part : state_->parts) {
    if (part->plan.pass == pass) return part->source;
  }
  return PlanSource::kModel;
}

std::string Executable::tileProgram(Pass pass) const {
  for (const auto& part : state_->parts) {
    if (part->plan.pass == pass) return print(part->tile);
  }
  return {};
}

std::vector<KernelView> Executable::kernels() const {
  std::vector<KernelView> views;
  std::size_t index = 0;
  std::vector<const CompiledPass*> parts;
  for (const SharedTensor& shared : state_->shared) parts.push_back(shared.program.get());
  for (const auto& part : state_->parts) parts.push_back(part.get());
  for (const CompiledPass* part : parts) {
    const std::vector<KernelUse> uses = kernelUses(part->tile);
    for (std::size_t k = 0; k < part->vectors.size(); ++k) {
      KernelView view;
      const Kernel& kernel = part->tile.kernels[k];
      view.multiplies = multiplies(kernel);
      view.resultAlignment = resultAlignmentOf(kernel);
      if (uses[k].calls > 0) view.call = callOf(part->tile, uses[k]);
      view.name = part->vectors[k].name;
      view.pass = part->plan.pass;
      view.vectorProgram = print(part->vectors[k]);
      if (k < part->codes.size()) {
        view.bytes = part->codes[k].bytes;
        view.entry = reinterpret_cast<const void*>(state_->code.entry(index++));
      }
      views.push_back(std::move(view));
    }
  }
  return views;
}

namespace {

// The part of an executable for a chip that computes the pass.
Result<const CompiledPass*> partOf(const Executable::State& state, Pass pass, const char* what) {
  if (!state.chip)
    return Error{ErrorCode::kUnsupported, Stage::kRun,
                 std::string("the pass was compiled for this host; name an NPU in Options::machine to ") + what};
  for (const auto& part : state.parts) {
    if (part->plan.pass == pass) return part.get();
  }
  return invalidInput(std::string(toString(pass)) + " was not compiled", Stage::kRun);
}

// As it was lowered, before passes.
const TileProgram& programOfChip(const CompiledPass& part) { return part.lowered ? *part.lowered : part.tile; }

}  // namespace

Result<EmulationReport> Executable::emulationReport(Pass pass, bool trace, std::int64_t mostEvents) const {
  return withoutThrowing(Stage::kRun, [&]() -> Result<EmulationReport> {
    CUBEJIT_TRY(part, partOf(*state_, pass, "count what one does"));
    return chipReport(part->problem, part->plan, *state_->chip, programOfChip(*part), trace, mostEvents);
  });
}

Result<SanitizerReport> Executable::sanitize(Pass pass) const {
  return withoutThrowing(Stage::kRun, [&]() -> Result<SanitizerReport> {
    CUBEJIT_TRY(part, partOf(*state_, pass, "check what one does"));
    return sanitizeChip(part->problem, part->plan, *state_->chip, programOfChip(*part));
  });
}

}  // namespace cubejit
