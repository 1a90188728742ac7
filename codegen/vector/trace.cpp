// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the scalar part is walked: values carry the pointer they came from; loops that only add constants are skipped
// after two iterations.
#include "codegen/vector/trace.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "codegen/vector/op_table.h"
#include "cubejit/kernel_args.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSegmentWords = 3;
constexpr std::int64_t kMostSteps = 4'000'000;  // instructions walked; every loop is seen long before

struct Value {
  PointerBase base = PointerBase::kNone;
  std::int64_t number = 0;
  TripSource source = TripSource::kUnknown;
  int section = -1;
  bool known = true;
};

class Walker {
 public:
  Walker(const VectorProgram& program, const TraceArgs& args) : code_(program.code), args_(args) {
    out_.loopOf.assign(code_.size(), -1);
    out_.accesses.resize(code_.size());
    std::vector<int> open;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (code_[i].op == VOp::kLoop) {
        LoopFact loop;
        loop.begin = static_cast<std::int32_t>(i);
        loop.parent = open.empty() ? -1 : open.back();
        open.push_back(static_cast<int>(out_.loops.size()));
        out_.loops.push_back(loop);
      }
      out_.loopOf[i] = open.empty() ? -1 : open.back();
      if (code_[i].op == VOp::kEndLoop) {
        out_.loops[static_cast<std::size_t>(open.back())].end = static_cast<std::int32_t>(i);
        open.pop_back();
      }
    }
    index_.assign(out_.loops.size(), 0);
    counted_.assign(out_.loops.size(), false);
  }

  Trace run() {
    walk(0, code_.size());
    for (auto& access : out_.accesses) {
      if (access)
        std::sort(access->steps.begin(), access->steps.end(), [](auto& x, auto& y) { return x.loop < y.loop; });
    }
    return std::move(out_);
  }

 private:
  Value& reg(int number) { return regs_[static_cast<std::size_t>(number)]; }

  void walk(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && steps_ < kMostSteps; ++i, ++steps_) {
      const VInstr& instr = code_[i];
      if (instr.op == VOp::kLoop) {
        loop(out_.loopOf[i]);
        i = static_cast<std::size_t>(out_.loops[static_cast<std::size_t>(out_.loopOf[i])].end);
        continue;
      }
      if (rowOf(instr.op).mem != MemUse::N) record(i);
      scalar(instr);
    }
  }

  void scalar(const VInstr& i) {
    static_assert(kScalarOps == 8, "seven cases, and kLoop, which is loop()'s");
    switch (i.op) {
      case VOp::kArg: reg(i.dst) = argument(static_cast<ArgSlot>(i.imm)); break;
      case VOp::kSet: reg(i.dst) = Value{PointerBase::kNone, i.imm, TripSource::kConstant}; break;
      case VOp::kCopy: reg(i.dst) = reg(i.src1); break;
      case VOp::kAddImm:
        reg(i.dst) = reg(i.src1);
        reg(i.dst).number += i.imm;
        reg(i.dst).source = TripSource::kUnknown;
        break;
      case VOp::kAdd: reg(i.dst) = sum(reg(i.src1), reg(i.src2)); break;
      case VOp::kLoadScalar: reg(i.dst) = word(i.mem); break;
      case VOp::kAddLoad: reg(i.dst) = sum(reg(i.src1), word(i.mem)); break;
      default: break;  // not scalar
    }
  }

  static Value sum(const Value& x, const Value& y) {
    Value v = x;
    if (v.base == PointerBase::kNone) v.base = y.base;
    v.number += y.number;
    v.known = x.known && y.known;
    v.source = TripSource::kUnknown;
    return v;
  }

  Value argument(ArgSlot slot) const {
    switch (slot) {
      case ArgSlot::kA: return Value{PointerBase::kA, 0};
      case ArgSlot::kB: return Value{PointerBase::kB, 0};
      case ArgSlot::kC: return Value{PointerBase::kC, 0};
      case ArgSlot::kD: return Value{PointerBase::kD, 0};
      case ArgSlot::kList: return Value{PointerBase::kList, 0};
      case ArgSlot::kRepeat: return Value{PointerBase::kNone, args_.repeat, TripSource::kRepeat};
      case ArgSlot::kARepeat: return Value{PointerBase::kNone, args_.aRepeat};
      case ArgSlot::kBRepeat: return Value{PointerBase::kNone, args_.bRepeat};
      case ArgSlot::kCRepeat: return Value{PointerBase::kNone, args_.cRepeat};
      case ArgSlot::kDRepeat: return Value{PointerBase::kNone, args_.dRepeat};
      case ArgSlot::kResidual: break;  // to memory that no operand points to
      case ArgSlot::kAccumulate: return Value{PointerBase::kNone, args_.accumulate, TripSource::kAccumulate};
    }
    return Value{PointerBase::kNone, 0, TripSource::kUnknown, -1, false};
  }

  // A word of the list, or an unknown one.
  Value word(const Mem& mem) {
    const Value& at = reg(mem.base);
    const std::int64_t index = (at.number + mem.disp) / 8;
    Value v;
    v.known =
        at.known && at.base == PointerBase::kList && index >= 0 && index < static_cast<std::int64_t>(args_.list.size());
    if (!v.known) return v;
    v.number = args_.list[static_cast<std::size_t>(index)];
    if (index < args_.sections) {
      v.source = TripSource::kSegments;
      v.section = static_cast<int>(index);
    } else if ((index - args_.sections) % kSegmentWords == 2) {
      v.source = TripSource::kOuter;
    }
    return v;
  }

  void record(std::size_t i) {
    const Mem& mem = code_[i].mem;
    const Value at = reg(mem.base);
    if (!at.known || at.base == PointerBase::kNone) return;
    const std::int64_t offset = at.number + mem.disp;
    int moved = -1, moving = 0;
    for (int l = out_.loopOf[i]; l >= 0; l = out_.loops[static_cast<std::size_t>(l)].parent) {
      const std::int64_t index = index_[static_cast<std::size_t>(l)];
      if (index > 1) return;
      if (index == 1) {
        moved = l;
        ++moving;
      }
    }
    std::optional<AccessFact>& access = out_.accesses[i];
    if (moving == 0 && !access) access = AccessFact{at.base, offset, {}};
    if (moving != 1 || !access || offset == access->offset) return;
    const auto same = [&](const AccessFact::Step& s) { return s.loop == moved; };
    if (std::none_of(access->steps.begin(), access->steps.end(), same))
      access->steps.push_back({moved, offset - access->offset});
  }

  void loop(int number) {
    LoopFact& fact = out_.loops[static_cast<std::size_t>(number)];
    const int counter = code_[static_cast<std::size_t>(fact.begin)].dst;
    const Value count = reg(counter);
    const std::int64_t trips = count.known ? std::max<std::int64_t>(count.number, 0) : 0;
    if (!counted_[static_cast<std::size_t>(number)]) {
      counted_[static_cast<std::size_t>(number)] = true;
      fact.trips = trips;
      fact.source = count.source;
      fact.section = count.source == TripSource::kOuter && fact.parent >= 0
                         ? out_.loops[static_cast<std::size_t>(fact.parent)].section
                         : count.section;
    }
    const auto begin = static_cast<std::size_t>(fact.begin) + 1, end = static_cast<std::size_t>(fact.end);
    std::int64_t& index = index_[static_cast<std::size_t>(number)];
    index = 0;
    if (trips == 0) {  // not entered: walked for its description, without consequences
      const auto before = regs_;
      walk(begin, end);
      regs_ = before;
      return;
    }
    const bool uniform = onlyAdds(begin, end);
    // Two repetitions of the whole contract or move tell everything: they are all alike, and nothing comes behind them.
    const std::int64_t most = fact.source == TripSource::kRepeat ? std::min<std::int64_t>(trips, 2) : trips;
    for (; index < most && steps_ < kMostSteps; ++index) {
      const auto before = regs_;
      walk(begin, end);
      if (index != 1 || !uniform) continue;
      for (std::size_t r = 0; r < regs_.size(); ++r)
        regs_[r].number += (regs_[r].number - before[r].number) * (trips - 2);
      break;
    }
    index = 0;
    reg(counter) = Value{};
  }

  bool onlyAdds(std::size_t begin, std::size_t end) const {
    return std::none_of(
        code_.begin() + static_cast<std::ptrdiff_t>(begin), code_.begin() + static_cast<std::ptrdiff_t>(end),
        [](const VInstr& i) { return i.op == VOp::kLoadScalar || i.op == VOp::kAddLoad || i.op == VOp::kLoop; });
  }

  const std::vector<VInstr>& code_;
  const TraceArgs& args_;
  Trace out_;
  std::array<Value, kScalarRegs> regs_{};
  std::vector<std::int64_t> index_;
  std::vector<bool> counted_;
  std::int64_t steps_ = 0;
};

}  // namespace

Trace trace(const VectorProgram& program, const TraceArgs& args) { return Walker(program, args).run(); }

}  // namespace cubejit
