// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the walk over flattened nests. An address is the sum of its stream's base and one delta per enclosing axis; sums are
// kept per loop level, so a call costs a few additions.
#include "runtime/exec/launch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "codegen/tile/moved.h"
#include "codegen/tile/segment_words.h"
#include "runtime/exec/kept_tiles.h"
#include "runtime/host/threads.h"

namespace cubejit {
namespace {

constexpr std::size_t kMaxStreams = 64, kMaxAxes = 192;

// Whether C lies at a vector's alignment in every repetition.
bool isAligned(const KernelArgs& args, std::int64_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(args.c);
  const auto step = static_cast<std::uintptr_t>(args.repeat > 1 ? args.cRepeat : 0);
  return ((address | step) & static_cast<std::uintptr_t>(alignment - 1)) == 0;
}

}  // namespace

Status launchable(const TileProgram& program) {
  for (const Phase& phase : program.phases) {
    const auto tooMany = [&](const char* what, std::size_t count, std::size_t limit) {
      return Error{ErrorCode::kLimitExceeded, Stage::kTile,
                   "phase " + phase.name + " has " + std::to_string(count) + " " + what + ", at most " +
                       std::to_string(limit) + " can run"};
    };
    if (phase.streams.size() > kMaxStreams) return tooMany("streams", phase.streams.size(), kMaxStreams);
    if (phase.axes.size() > kMaxAxes) return tooMany("axes", phase.axes.size(), kMaxAxes);
  }
  return Unit{};
}

struct LaunchProgram::Walk {
  const FlatPhase& phase;
  std::array<char*, kMaxStreams> base{};
  std::array<int, kMaxAxes> cls{};
  KernelTimes::Counter* counters = nullptr;  ///< of the slot; null = runs are not timed
  std::int64_t residual = 0;                 ///< as in KernelArgs

  char* at(int stream, const std::int64_t* offsets) const {
    return stream < 0 ? nullptr : moved(base[static_cast<std::size_t>(stream)], offsets[stream]);
  }
  /// The number of the classes that the loops around a list have chosen.
  std::size_t numberOf(const ClassWeights& weights) const;
};

LaunchProgram::LaunchProgram(const TileProgram& program, KernelRunner runner)
    : runner_(std::move(runner)),
      buffers_(program.buffers),
      residual_(program.residual),
      prepack_(prepackOf(program)),
      workspace_(workspaceOf(program)),
      besidePacked_(workspaceOf(program, prepack_.buffers)) {
  for (const SegmentList& list : program.lists) lists_.push_back(segmentWords(list));
  for (const Kernel& kernel : program.kernels) {
    const auto* contract = std::get_if<Contract>(&kernel);
    usesTiles_ =
        usesTiles_ || (std::holds_alternative<TileProduct>(kernel) && runner_.functions[alignments_.size()] != nullptr);
    alignments_.push_back(contract == nullptr ? 0 : std::int64_t{contract->lanes} * 4);
  }
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    keptPlace_.push_back(keptBytes_);
    if (prepack_.buffers[b]) keptBytes_ += static_cast<std::size_t>(paddedBytes(program.buffers[b].bytes));
  }
  for (const Phase& phase : program.phases) phases_.push_back(flatPhase(phase));
}

LaunchProgram::FlatPhase LaunchProgram::flatPhase(const Phase& phase) const {
  FlatPhase flat;
  flat.streams = phase.streams;
  flat.tasks = taskCount(phase);
  flat.workCycles = phase.workCycles;
  FlatNests nests = flatten(phase);
  flat.axes = std::move(nests.axes);
  flat.body = std::move(nests.body);
  for (const int axis : phase.parallelAxes) {
    const FlatAxis& a = flat.axes[static_cast<std::size_t>(axis)];
    const bool moves = std::any_of(a.delta.begin(), a.delta.end(), [](std::int64_t delta) { return delta != 0; });
    if (a.steps() != 1 || moves || a.cls[0] != 0) flat.parallelAxes.push_back(axis);
  }
  for (const Call* call : nests.calls) flat.calls.push_back(flatCall(*call));
  return flat;
}

LaunchProgram::FlatCall LaunchProgram::flatCall(const Call& call) const {
  FlatCall flat{call.a, call.b, call.c, call.d, {}};
  for (const Variant& v : call.variants) {
    FlatVariant variant;
    variant.kernel = v.kernel;
    if (v.kernel >= 0) variant.function = runner_.functions[static_cast<std::size_t>(v.kernel)];
    if (v.list >= 0) variant.list = lists_[static_cast<std::size_t>(v.list)].data();
    variant.accumulate = v.accumulate ? 1 : 0;
    // Interpreters have no caches to pass by.
    if (v.aligned >= 0 && runner_.functions[static_cast<std::size_t>(v.aligned)] != nullptr) {
      variant.aligned = runner_.functions[static_cast<std::size_t>(v.aligned)];
      variant.alignment = alignments_[static_cast<std::size_t>(v.aligned)];
    }
    flat.variants.push_back(variant);
  }
  return flat;
}

void LaunchProgram::callKernel(const FlatVariant& variant, KernelArgs& args) const {
  args.list = variant.list;
  args.accumulate = variant.accumulate;
  if (variant.alignment != 0 && isAligned(args, variant.alignment))
    variant.aligned(&args);
  else if (variant.function != nullptr)
    variant.function(&args);
  else
    runner_.interpret(runner_.user, variant.kernel, args);
}

std::size_t LaunchProgram::Walk::numberOf(const ClassWeights& weights) const {
  std::size_t index = 0;
  for (const auto& [axis, multiplier] : weights)
    index += static_cast<std::size_t>(cls[static_cast<std::size_t>(axis)] * multiplier);
  return index;
}

// A call's variants and operands where the loops around its list are now.
struct LaunchProgram::Operands {
  const FlatVariant* variants;
  char *a, *b, *c, *d;
};

// In place: a copy would be read in pieces of two pointers right after each was written, and wait until all stores of the kernel before are done.
void LaunchProgram::place(const Walk& w, const FlatCallSite& site, const std::int64_t* offsets, Operands& out) {
  const FlatCall& call = w.phase.calls[static_cast<std::size_t>(site.call)];
  out.variants = call.variants.data() + w.numberOf(site.outer);
  out.a = w.at(call.a, offsets);
  out.b = w.at(call.b, offsets);
  out.c = w.at(call.c, offsets);
  out.d = w.at(call.d, offsets);
}

void LaunchProgram::callStep(const Walk& w, const Operands& place, const CallStep& step) const {
  const FlatVariant& variant = place.variants[step.variant];
  if (variant.kernel < 0) return;
  KernelArgs args;
  args.a = moved(place.a, step.a);
  args.b = moved(place.b, step.b);
  args.c = moved(place.c, step.c);
  args.repeat = step.repeat;
  args.aRepeat = step.aRepeat;
  args.bRepeat = step.bRepeat;
  args.cRepeat = step.cRepeat;
  args.dRepeat = step.dRepeat;
  args.d = moved(place.d, step.d);
  args.residual = w.residual;
  if (w.counters == nullptr) {
    callKernel(variant, args);
  } else {
    const std::uint64_t begin = ticksNow();
    callKernel(variant, args);
    w.counters[variant.kernel].add(begin);
  }
}

void LaunchProgram::walkCalls(const Walk& w, const FlatNode& list, Window steps, const std::int64_t* offsets) const {
  if (list.axis < 0) {
    for (const CallStep& step : list.steps) {
      Operands here;
      place(w, list.sites[step.site], offsets, here);
      callStep(w, here, step);
    }
    return;
  }
  std::array<Operands, kMostSites> places;
  for (std::size_t i = 0; i < list.sites.size(); ++i) place(w, list.sites[i], offsets, places[i]);
  const CallStep* const end = list.steps.data() + static_cast<std::size_t>(steps.end) * list.perStep;
  for (const CallStep* step = list.steps.data() + static_cast<std::size_t>(steps.begin) * list.perStep; step < end;
       ++step)
    callStep(w, places[step->site], *step);
}

void LaunchProgram::walkLoop(Walk& w, const FlatNode& loop, const std::int64_t* offsets) const {
  const std::size_t streams = w.phase.streams.size();
  const FlatAxis& axis = w.phase.axes[static_cast<std::size_t>(loop.axis)];
  Window steps{0, axis.steps()};
  if (axis.windowAxis >= 0)
    steps = axis.windows[static_cast<std::size_t>(w.cls[static_cast<std::size_t>(axis.windowAxis)])];
  if (loop.list()) return walkCalls(w, loop, steps, offsets);
  std::array<std::int64_t, kMaxStreams> here;
  for (int i = steps.begin; i < steps.end; ++i) {
    const std::int64_t* delta = axis.delta.data() + static_cast<std::size_t>(i) * streams;
    for (std::size_t s = 0; s < streams; ++s) here[s] = offsets[s] + delta[s];
    w.cls[static_cast<std::size_t>(loop.axis)] = axis.cls[static_cast<std::size_t>(i)];
    walk(w, loop.body, here.data());
  }
}

void LaunchProgram::walk(Walk& w, const std::vector<FlatNode>& nodes, const std::int64_t* offsets) const {
  for (const FlatNode& node : nodes) {
    if (node.axis >= 0)
      walkLoop(w, node, offsets);
    else if (node.list())
      walkCalls(w, node, Window{0, 1}, offsets);
    else if (node.chosen.empty())
      walk(w, node.body, offsets);
    else
      walk(w, node.body[node.chosen[w.numberOf(node.weights)]].body, offsets);
  }
}

void LaunchProgram::runTasks(const FlatPhase& phase, const Slot& slot, std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return;  // an axis may have no steps
  const KeptTiles kept(usesTiles_);
  Walk w{phase, {}, {}, times_ ? times_->row(slot.index) : nullptr, slot.residual};
  const std::uint64_t began = w.counters == nullptr ? 0 : ticksNow();
  for (std::size_t s = 0; s < phase.streams.size(); ++s) {
    w.base[s] = moved(slot.bases[static_cast<std::size_t>(phase.streams[s].buffer)], phase.streams[s].offset);
  }
  const std::size_t streams = phase.streams.size();
  std::array<std::int64_t, kMaxAxes> step;  // of each parallel axis
  std::int64_t rest = begin;
  for (auto axis = phase.parallelAxes.rbegin(); axis != phase.parallelAxes.rend(); ++axis) {
    const int steps = phase.axes[static_cast<std::size_t>(*axis)].steps();
    step[static_cast<std::size_t>(*axis)] = rest % steps;
    rest /= steps;
  }
  std::array<std::int64_t, kMaxStreams> offsets;
  for (std::int64_t task = begin; task < end; ++task) {
    std::fill_n(offsets.begin(), streams, 0);
    for (const int axis : phase.parallelAxes) {
      const auto number = static_cast<std::size_t>(axis);
      const FlatAxis& a = phase.axes[number];
      const auto at = static_cast<std::size_t>(step[number]);
      w.cls[number] = a.cls[at];
      for (std::size_t s = 0; s < streams; ++s) offsets[s] += a.delta[at * streams + s];
    }
    walk(w, phase.body, offsets.data());
    for (auto axis = phase.parallelAxes.rbegin(); axis != phase.parallelAxes.rend(); ++axis) {
      std::int64_t& at = step[static_cast<std::size_t>(*axis)];
      if (++at < phase.axes[static_cast<std::size_t>(*axis)].steps()) break;
      at = 0;
    }
  }
  if (w.counters != nullptr) w.counters[times_->phaseAt(static_cast<std::size_t>(&phase - phases_.data()))].add(began);
}

LaunchProgram::Slot LaunchProgram::slotOf(const Places& places, int index) const {
  Slot slot{index, basesOf(places, index), 0};
  slot.residual = residualBytes(residual_, slot.bases);
  return slot;
}

std::vector<char*> LaunchProgram::basesOf(const Places& places, int slot) const {
  std::size_t caller = 0;
  const WorkspaceLayout& workspace = places.kept == nullptr ? workspace_ : besidePacked_;
  std::vector<char*> bases;
  bases.reserve(buffers_.size());
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    char* base = nullptr;
    switch (buffers_[b].use) {
      case Buffer::Use::kInput:
      case Buffer::Use::kOutput: base = static_cast<char*>(places.callers[caller++]); break;
      case Buffer::Use::kShared:
        base = places.kept != nullptr && prepack_.buffers[b] ? places.kept + keptPlace_[b]
                                                             : moved(places.workspace, workspace.offset[b]);
        break;
      case Buffer::Use::kPrivate: base = moved(places.workspace, workspace.bytes.on(slot) + workspace.offset[b]); break;
      case Buffer::Use::kConstant: base = reinterpret_cast<char*>(const_cast<float*>(buffers_[b].values.data())); break;
    }
    bases.push_back(base);
  }
  return bases;
}

void LaunchProgram::runPhase(const FlatPhase& phase, const Places& places, const Team& team) const {
  const int useful =
      phase.workCycles < team.wakeCycles ? 1 : static_cast<int>(std::min<std::int64_t>(team.slots, phase.tasks));
  if (useful <= 1) return runTasks(phase, slotOf(places, 0), 0, phase.tasks);
  // Short tasks are taken several at once: each take waits for the counter that all threads write.
  constexpr double kTakeCycles = 10'000;
  constexpr std::int64_t kTakes = 16;  // a thread's, at least, so that the last ones end together
  const auto inTake =
      static_cast<std::int64_t>(kTakeCycles * static_cast<double>(phase.tasks) / std::max(phase.workCycles, 1.0));
  struct Shared {
    const LaunchProgram* self;
    const FlatPhase& phase;
    const Places& places;
    std::int64_t each;
    std::atomic<std::int64_t> next{0};
  } shared{this, phase, places, std::max<std::int64_t>(1, std::min(inTake, phase.tasks / (useful * kTakes))), {}};
  runSlots(
      team.parallelFor, team.pin, useful,
      [](void* context, int slot) {
        auto& s = *static_cast<Shared*>(context);
        const Slot here = s.self->slotOf(s.places, slot);
        for (std::int64_t task = s.next.fetch_add(s.each, std::memory_order_relaxed); task < s.phase.tasks;
             task = s.next.fetch_add(s.each, std::memory_order_relaxed)) {
          s.self->runTasks(s.phase, here, task, std::min(task + s.each, s.phase.tasks));
        }
      },
      &shared);
}

void LaunchProgram::runPhases(std::size_t begin, std::size_t end, const Places& places, const Team& team) const {
  for (std::size_t i = begin; i < end; ++i) {
    if (places.kept == nullptr || !prepack_.phases[i]) runPhase(phases_[i], places, team);
  }
}

void LaunchProgram::runPhase(std::size_t phase, const CallerBuffers& callers, char* workspace) const {
  const FlatPhase& flat = phases_[phase];
  runTasks(flat, slotOf({callers, workspace, nullptr}, 0), 0, flat.tasks);
}

namespace {

// Runs only read what is kept.
char* readable(const void* packed) { return static_cast<char*>(const_cast<void*>(packed)); }

}  // namespace

void LaunchProgram::run(const CallerBuffers& callers, const void* packed, char* workspace, const Team& team) const {
  runPhases(0, phases_.size(), {callers, workspace, readable(packed)}, team);
}

void LaunchProgram::runBackToBack(const Programs& programs, const BackToBack& order,
                                  const std::vector<CallerBuffers>& callers, const void* packed, char* workspace,
                                  const Team& team) {
  struct Part {
    const LaunchProgram& program;
    std::size_t mixed;  // phase
    Places places;
  };
  struct Shared {
    std::vector<Part> parts;
    const std::vector<std::vector<TaskRun>>& units;
    std::atomic<std::size_t> next{0};
  } shared{{}, order.units, {}};
  double work = 0;
  for (const BackToBack::Member& member : order.members) {
    const LaunchProgram& program = *programs[member.program];
    shared.parts.push_back({program, member.phase, {callers[member.program], workspace, readable(packed)}});
    workspace += program.workspaceBytes(team.slots, packed != nullptr);
    work += program.phases_[member.phase].workCycles;
    program.runPhases(0, member.phase, shared.parts.back().places, team);
  }
  const auto units = static_cast<std::int64_t>(order.units.size());
  const int useful = work < team.wakeCycles ? 1 : static_cast<int>(std::min<std::int64_t>(team.slots, units));
  runSlots(
      team.parallelFor, team.pin, useful,
      [](void* context, int slot) {
        auto& s = *static_cast<Shared*>(context);
        std::vector<Slot> slots;
        for (const Part& part : s.parts) slots.push_back(part.program.slotOf(part.places, slot));
        for (std::size_t unit = s.next.fetch_add(1, std::memory_order_relaxed); unit < s.units.size();
             unit = s.next.fetch_add(1, std::memory_order_relaxed)) {
          for (const TaskRun& run : s.units[unit]) {
            const Part& part = s.parts[run.program];
            part.program.runTasks(part.program.phases_[part.mixed], slots[run.program], run.begin, run.end);
          }
        }
      },
      &shared);
  for (const Part& part : shared.parts)
    part.program.runPhases(part.mixed + 1, part.program.phases_.size(), part.places, team);
}

void LaunchProgram::prepack(const CallerBuffers& callers, char* kept, const Team& team) const {
  const Places places{callers, nullptr, kept};
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    if (prepack_.phases[i]) runPhase(phases_[i], places, team);
  }
}

}  // namespace cubejit
