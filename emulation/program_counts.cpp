// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides instructions from calls: which buffers they touch says what they are.
#include "emulation/program_counts.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

const char* loadName(const std::string& call) {
  return call == "load_image" ? "gm_to_l1 image" : call == "load_pixels" ? "gm_to_l1 pixels" : "gm_to_l1 weights";
}
const char* fillName(bool a, bool unfolds) {
  if (a) return unfolds ? "l1_to_l0a unfold" : "l1_to_l0a fractals";
  return unfolds ? "l1_to_l0b unfold" : "l1_to_l0b fractals";
}

std::optional<CoreBuffer> coreBuffer(const Buffer& buffer) {
  for (std::size_t i = 0; i < kCoreBuffers; ++i) {
    if ((buffer.use == Buffer::Use::kPrivate || buffer.use == Buffer::Use::kShared) &&
        buffer.name == toString(static_cast<CoreBuffer>(i)))
      return static_cast<CoreBuffer>(i);
  }
  return std::nullopt;
}

using Traffic = CoreInstruction::Traffic;

Traffic at(const CoreInstruction::Side& side, CoreBuffer buffer) {
  const auto found = side.find(buffer);
  return found == side.end() ? Traffic{} : found->second;
}

// The calls of one instruction.
class InstructionReader {
 public:
  InstructionReader(ProgramTouch& program, const Phase& phase)
      : touch_(program), p_(program.program()), phase_(phase) {}

  void add(const Call& call) {
    if (first_ == nullptr) first_ = &call.name;
    i_.unit = CoreUnit(call.unit);
    const Variant& v = call.variants.front();
    const Kernel& kernel = p_.kernels[static_cast<std::size_t>(v.kernel)];
    operand(call, call.a, 0, i_.read);
    const bool ofCore = operand(call, call.c, 2, i_.written);
    const auto* contract = std::get_if<Contract>(&kernel);
    if (contract == nullptr) {
      i_.accumulates = ofCore && std::holds_alternative<Accumulate>(kernel);
      return;
    }
    i_.accumulates = v.accumulate;
    for (std::size_t s = 0; s < contract->sections.size(); ++s) {
      std::int64_t uses = 0;
      for (const Step& step : contract->sections[s].steps) {
        for (const AOperand& a : step.a) uses += static_cast<std::int64_t>(a.uses.size());
      }
      for (const Segment& segment : p_.lists[static_cast<std::size_t>(v.list)][s])
        i_.products += uses * contract->lanes * membersOf(contract->products) * segment.outer * call.place.repeat;
    }
  }

  CoreInstruction take() {
    switch (i_.unit) {
      case CoreUnit::kGmToL1: {
        i_.name = loadName(*first_);
        // L1 keeps runs of 32 bytes, whatever of them exists; those that a stride puts between the runs of a spread operand are not read from
        // memory.
        const Traffic to = at(i_.written, CoreBuffer::kL1);
        if (i_.written.count(CoreBuffer::kL1) > 0)
          i_.loaded = *first_ == "load_image" ? unfoldedRuns_ : to.end - to.begin;
        break;
      }
      case CoreUnit::kL1ToL0: i_.name = fillName(i_.written.count(CoreBuffer::kL0a) > 0, *first_ == "unfold"); break;
      case CoreUnit::kCube: i_.name = "mmad"; break;
      default: i_.name = toString(i_.unit);
    }
    return std::move(i_);
  }

 private:
  Traffic traffic(const Call& call, std::size_t s) const {
    const Variant& v = call.variants.front();
    const ByteRange range = touch_.extentsOf(v)[s];
    const auto [lo, hi] = call.place.reach(s);
    return {lo + range.begin, hi + range.end, touch_.bytesOf(v, static_cast<CallOperand>(s)) * call.place.repeat};
  }

  // Whether it is of a buffer of the core.
  bool operand(const Call& call, int stream, std::size_t s, CoreInstruction::Side& side) {
    if (stream < 0) return false;
    const Buffer& buffer =
        p_.buffers[static_cast<std::size_t>(phase_.streams[static_cast<std::size_t>(stream)].buffer)];
    const Traffic t = traffic(call, s);
    const std::optional<CoreBuffer> of = coreBuffer(buffer);
    if (!of) {
      if (buffer.use == Buffer::Use::kPrivate) return false;
      i_.memory += t.bytes;
      if (CoreUnit(call.unit) == CoreUnit::kGmToL1) unfoldedRuns_ += traffic(call, 2).bytes;
      return false;
    }
    const auto [known, fresh] = side.emplace(*of, t);
    if (fresh) return true;
    known->second.begin = std::min(known->second.begin, t.begin);
    known->second.end = std::max(known->second.end, t.end);
    known->second.bytes += t.bytes;
    return true;
  }

  ProgramTouch& touch_;
  const TileProgram& p_;
  const Phase& phase_;
  const std::string* first_ = nullptr;  ///< the name of its first call
  CoreInstruction i_;
  std::int64_t unfoldedRuns_ = 0;
};

TaskCounts countsOf(ProgramTouch& program, const Phase& phase, const Node& choice, const Window& window,
                    const Machine& machine, DType operand) {
  CoreCounter counter(machine, operand);
  counter.clock.keepEvents(true);
  for (const CoreInstruction& instruction : instructionsOf(program, phase, choice.body, window))
    counter.run(instruction);
  counter.counts.cycles = counter.clock.now();
  return {counter.counts, counter.clock.events(), counter.clock.occupancy(), counter.clock.readBefore()};
}

}  // namespace

std::vector<CoreInstruction> instructionsOf(ProgramTouch& program, const Phase& phase, const std::vector<Node>& nodes,
                                            const Window& calls) {
  std::vector<CoreInstruction> instructions;
  std::optional<InstructionReader> reader;
  for (int i = calls.begin; i < calls.end; ++i) {
    const Call& call = nodes[static_cast<std::size_t>(i)].call;
    if (call.issues || !reader) {
      if (reader) instructions.push_back(reader->take());
      reader.emplace(program, phase);
    }
    reader->add(call);
  }
  if (reader) instructions.push_back(reader->take());
  return instructions;
}

CoreCounter::CoreCounter(const Machine& machine, DType operand) : clock(machine, operand) {
  if (const MatrixProduct* step = machine.npu.cube.product(operand))
    productsOfStep_ = step->shape.m * step->shape.k * step->shape.n;
}

void CoreCounter::beginTask() {
  clock.beginTask();
  sums_.clear();
  for (auto& parts : parts_) parts.clear();
}

void CoreCounter::run(const CoreInstruction& i) {
  for (const auto& [buffer, t] : i.written) {
    std::int64_t& high = counts.highWater[static_cast<std::size_t>(buffer)];
    high = std::max(high, t.end);
    parts_[static_cast<std::size_t>(buffer)].insert(t.begin);
    if (i.accumulates)
      clock.reads(buffer, {t.begin, t.end});
    else
      clock.fills(buffer, {t.begin, t.end});
  }
  for (const auto& [buffer, t] : i.read) {
    if (i.written.count(CoreBuffer::kUb) == 0 || i.unit != CoreUnit::kFixpipe || buffer != CoreBuffer::kUb)
      clock.reads(buffer, {t.begin, t.end});  // of UB, a block on its way out reads its own strips
  }
  switch (i.unit) {
    case CoreUnit::kGmToL1: return clock.load(i.name, at(i.written, CoreBuffer::kL1).begin, i.loaded, counts);
    case CoreUnit::kL1ToL0: {
      const CoreBuffer l0 = i.written.count(CoreBuffer::kL0a) > 0 ? CoreBuffer::kL0a : CoreBuffer::kL0b;
      const std::set<std::int64_t>& l1 = parts_[static_cast<std::size_t>(CoreBuffer::kL1)];
      const auto behind = l1.upper_bound(at(i.read, CoreBuffer::kL1).begin);
      const Traffic to = at(i.written, l0);
      return clock.fill(i.name, l0, to.begin, behind == l1.begin() ? 0 : *std::prev(behind), to.bytes, counts);
    }
    case CoreUnit::kCube: {
      const Traffic to = at(i.written, CoreBuffer::kL0c);
      if (!i.accumulates) {
        sums_[to.begin] = to.bytes / 4;
        ++counts.blocks;
      }
      return clock.multiply(i.name, at(i.read, CoreBuffer::kL0a).begin, at(i.read, CoreBuffer::kL0b).begin, to.begin,
                            i.products / productsOfStep_, !i.accumulates, counts);
    }
    case CoreUnit::kFixpipe: {
      const Traffic from = at(i.read, CoreBuffer::kL0c);
      const Traffic results = i.read.count(CoreBuffer::kUb) > 0 ? at(i.read, CoreBuffer::kUb) : from;
      return clock.moveOut(from.begin, sums_[from.begin], results.bytes / 4, i.memory, counts);
    }
    case CoreUnit::kGmToUb: return clock.loadUb(i.name, at(i.written, CoreBuffer::kUb).begin, i.memory, counts);
    case CoreUnit::kVector: {
      const Traffic from = at(i.read, CoreBuffer::kUb), to = at(i.written, CoreBuffer::kUb);
      return clock.compute(i.name, i.read.empty() ? -1 : from.begin, to.begin, std::max(from.bytes, to.bytes), counts);
    }
    case CoreUnit::kUbToGm: return clock.storeUb(i.name, at(i.read, CoreBuffer::kUb).begin, i.memory, counts);
    case CoreUnit::kNone: return;
  }
}

PhaseCounts::PhaseCounts(const TileProgram& program, const Phase& phase, const Machine& machine, DType operand)
    : phase_(phase) {
  const Node* choice = &phase.body.front();
  while (choice->axis >= 0) choice = &choice->body.front();
  ProgramTouch touch(program);
  std::map<std::pair<int, int>, int> known;
  for (const Window& window : choice->windows) {
    if (window.begin == window.end) {
      classOf_.push_back(-1);
      continue;
    }
    const auto [cls, fresh] = known.emplace(std::pair{window.begin, window.end}, static_cast<int>(classes_.size()));
    if (fresh) classes_.push_back(countsOf(touch, phase, *choice, window, machine, operand));
    classOf_.push_back(cls->second);
  }
}

void PhaseCounts::eachTask(const std::function<void(const std::vector<const AxisStep*>&, int)>& visit) const {
  walkChoices(phase_, [&](const ChoiceSite& site) {
    visit(*site.steps, classOf_[site.number]);
    return true;
  });
}

}  // namespace cubejit
