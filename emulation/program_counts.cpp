// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides instructions from calls: which buffers they touch says what they are.
#include "emulation/program_counts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "codegen/tile/touch.h"
#include "codegen/tile/walk.h"
#include "emulation/clock.h"

namespace cubejit {
namespace {

using Parts = std::array<std::set<std::int64_t>, kCoreBuffers>;  // where parts of buffers begin

const char* loadName(const std::string& call) {
  return call == "load_image" ? "gm_to_l1 image" : call == "load_pixels" ? "gm_to_l1 pixels" : "gm_to_l1 weights";
}
const char* fillName(bool a, bool unfolds) {
  if (a) return unfolds ? "l1_to_l0a unfold" : "l1_to_l0a fractals";
  return unfolds ? "l1_to_l0b unfold" : "l1_to_l0b fractals";
}

std::optional<CoreBuffer> coreBuffer(const Buffer& buffer) {
  for (std::size_t i = 0; i < kCoreBuffers; ++i) {
    if (buffer.role == BufferRole::kPrivate && buffer.name == toString(static_cast<CoreBuffer>(i)))
      return static_cast<CoreBuffer>(i);
  }
  return std::nullopt;
}

// What one call moves through an operand.
struct Traffic {
  std::int64_t begin = 0, end = 0, bytes = 0;
};

// The calls of one instruction.
class Instruction {
 public:
  Instruction(const TileProgram& program, const Phase& phase) : p_(program), phase_(phase) {}

  void add(const Call& call) {
    if (name_ == nullptr) name_ = &call.name;
    unit_ = call.unit;
    const Variant& v = call.variants.front();
    const Kernel& kernel = p_.kernels[static_cast<std::size_t>(v.kernel)];
    const SegmentList* list = v.list < 0 ? nullptr : &p_.lists[static_cast<std::size_t>(v.list)];
    const auto* move = std::get_if<Move>(&kernel);
    operand(call, call.a, 0, kernel, list, read_);
    operand(call, call.c, 2, kernel, list, written_);
    if (move != nullptr) return;
    const auto& contract = std::get<Contract>(kernel);
    accumulates_ = v.accumulate;
    for (std::size_t s = 0; s < contract.sections.size(); ++s) {
      std::int64_t uses = 0;
      for (const Step& step : contract.sections[s].steps) {
        for (const AOperand& a : step.a) uses += static_cast<std::int64_t>(a.uses.size());
      }
      for (const Segment& segment : (*list)[s]) products_ += uses * contract.lanes * segment.outer * call.place.repeat;
    }
  }

  /// `sums`: of f32 that blocks in L0C have, by where they begin.
  void run(std::int64_t productsOfStep, std::map<std::int64_t, std::int64_t>& sums, Parts& parts, Clock& clock,
           CoreCounts& counts) const {
    for (const auto& [buffer, t] : written_) {
      std::int64_t& high = counts.highWater[static_cast<std::size_t>(buffer)];
      high = std::max(high, t.end);
      parts[static_cast<std::size_t>(buffer)].insert(t.begin);
    }
    const auto at = [](const Side& side, CoreBuffer buffer) {
      const auto found = side.find(buffer);
      return found == side.end() ? Traffic{} : found->second;
    };
    switch (unit_) {
      case CoreUnit::kGmToL1:
        return clock.load(loadName(*name_), at(written_, CoreBuffer::kL1).begin, loadedBytes(), counts);
      case CoreUnit::kL1ToL0: {
        const CoreBuffer l0 = written_.count(CoreBuffer::kL0a) > 0 ? CoreBuffer::kL0a : CoreBuffer::kL0b;
        const std::set<std::int64_t>& l1 = parts[static_cast<std::size_t>(CoreBuffer::kL1)];
        const auto behind = l1.upper_bound(at(read_, CoreBuffer::kL1).begin);
        const Traffic to = at(written_, l0);
        return clock.fill(fillName(l0 == CoreBuffer::kL0a, *name_ == "unfold"), l0, to.begin,
                          behind == l1.begin() ? 0 : *std::prev(behind), to.bytes, counts);
      }
      case CoreUnit::kCube: {
        const Traffic to = at(written_, CoreBuffer::kL0c);
        if (!accumulates_) {
          sums[to.begin] = to.bytes / 4;
          ++counts.blocks;
        }
        return clock.multiply("mmad", at(read_, CoreBuffer::kL0a).begin, at(read_, CoreBuffer::kL0b).begin, to.begin,
                              products_ / productsOfStep, !accumulates_, counts);
      }
      case CoreUnit::kFixpipe: {
        const Traffic from = at(read_, CoreBuffer::kL0c);
        const Traffic results = read_.count(CoreBuffer::kUb) > 0 ? at(read_, CoreBuffer::kUb) : from;
        return clock.moveOut(from.begin, sums[from.begin], results.bytes / 4, memory_, counts);
      }
      case CoreUnit::kGmToUb: return clock.loadUb("gm_to_ub", at(written_, CoreBuffer::kUb).begin, memory_, counts);
      case CoreUnit::kVector: {
        const Traffic from = at(read_, CoreBuffer::kUb), to = at(written_, CoreBuffer::kUb);
        return clock.compute("vector", read_.empty() ? -1 : from.begin, to.begin, std::max(from.bytes, to.bytes),
                             counts);
      }
      case CoreUnit::kUbToGm: return clock.storeUb("ub_to_gm", at(read_, CoreBuffer::kUb).begin, memory_, counts);
      case CoreUnit::kNone: return;
    }
  }

 private:
  // L1 keeps runs of 32 bytes, whatever of them exists; those that a stride puts between the runs of an image are not read from memory.
  std::int64_t loadedBytes() const {
    const auto l1 = written_.find(CoreBuffer::kL1);
    if (l1 == written_.end()) return 0;
    return *name_ == "load_image" ? imageRuns_ : l1->second.end - l1->second.begin;
  }

  using Side = std::map<CoreBuffer, Traffic>;

  Traffic traffic(const Call& call, std::size_t s, const Kernel& kernel, const SegmentList* list) const {
    const ByteRange range = extents(kernel, list)[s];
    Traffic t;
    visitTouched(kernel, list, static_cast<CallOperand>(s), [&](ByteRange r) {
      t.bytes += r.end - r.begin;
      return true;
    });
    t.bytes *= call.place.repeat;
    const auto [lo, hi] = call.place.reach(s);
    t.begin = lo + range.begin;
    t.end = hi + range.end;
    return t;
  }

  void operand(const Call& call, int stream, std::size_t s, const Kernel& kernel, const SegmentList* list, Side& side) {
    if (stream < 0) return;
    const Buffer& buffer =
        p_.buffers[static_cast<std::size_t>(phase_.streams[static_cast<std::size_t>(stream)].buffer)];
    const Traffic t = traffic(call, s, kernel, list);
    if (buffer.role != BufferRole::kPrivate) {
      memory_ += t.bytes;
      if (call.unit == CoreUnit::kGmToL1) imageRuns_ += traffic(call, 2, kernel, list).bytes;
      return;
    }
    const std::optional<CoreBuffer> of = coreBuffer(buffer);
    if (!of) return;
    const auto [known, fresh] = side.emplace(*of, t);
    if (fresh) return;
    known->second.begin = std::min(known->second.begin, t.begin);
    known->second.end = std::max(known->second.end, t.end);
    known->second.bytes += t.bytes;
  }

  const TileProgram& p_;
  const Phase& phase_;
  CoreUnit unit_ = CoreUnit::kNone;
  const std::string* name_ = nullptr;  ///< of its first call
  Side read_, written_;
  std::int64_t memory_ = 0, imageRuns_ = 0, products_ = 0;
  bool accumulates_ = false;
};

TaskCounts countsOf(const TileProgram& program, const Phase& phase, const Node& choice, const Window& window,
                    const Machine& machine, DType operand) {
  TaskCounts task;
  Clock clock(machine, operand);
  clock.keepEvents(true);
  const CubeStep* step = machine.npu.step(operand);
  const std::int64_t products = step == nullptr ? 1 : step->fractal.m * step->fractal.k * step->fractal.n;
  std::map<std::int64_t, std::int64_t> sums;
  Parts parts;
  std::optional<Instruction> instruction;
  for (int i = window.begin; i < window.end; ++i) {
    const Call& call = choice.body[static_cast<std::size_t>(i)].call;
    if (call.issues || !instruction) {
      if (instruction) instruction->run(products, sums, parts, clock, task.counts);
      instruction.emplace(program, phase);
    }
    instruction->add(call);
  }
  if (instruction) instruction->run(products, sums, parts, clock, task.counts);
  task.counts.cycles = clock.now();
  task.events = clock.events();
  return task;
}

}  // namespace

PhaseCounts::PhaseCounts(const TileProgram& program, const Phase& phase, const Machine& machine, DType operand)
    : phase_(phase) {
  const Node* choice = &phase.body.front();
  while (choice->axis >= 0) choice = &choice->body.front();
  std::map<std::pair<int, int>, int> known;
  for (const Window& window : choice->windows) {
    if (window.begin == window.end) {
      classOf_.push_back(-1);
      continue;
    }
    const auto [cls, fresh] = known.emplace(std::pair{window.begin, window.end}, static_cast<int>(classes_.size()));
    if (fresh) classes_.push_back(countsOf(program, phase, *choice, window, machine, operand));
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
