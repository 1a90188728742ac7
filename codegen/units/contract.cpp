// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a contract becomes vector ops. Broadcasts with several uses go through a temporary (a load port is cheaper than re-reading); with
// one use, or when no register is left, they are operands of the FMA itself. Leaves registers to contract_registers and ISA gaps to
// vector/legalize.
#include "codegen/units/units.h"

#include <algorithm>

#include "codegen/units/assembler.h"
#include "codegen/units/contract_registers.h"
#include "codegen/units/element_code.h"
#include "codegen/units/expression_code.h"
#include "codegen/units/pair_code.h"
#include "codegen/units/quad_sums.h"
#include "codegen/units/segment_loop.h"

namespace cubejit {
namespace {

enum Scalar { kA, kB, kC, kList, kRepeat, kCounts, kSegment, kAt, kBt, kOuter, kSegments, kFlag };
constexpr int kCopy = kFlag;         // nothing else needs it while sections run
constexpr int kD = kList, kE = kBt;  // the second when they have run

class Lowering {
 public:
  Lowering(const Contract& contract, const HostIsa& isa)
      : c_(contract),
        isa_(isa),
        asm_(contract.label.text, isa),
        vectorsA_(asm_, contract.vectorsA, Element::kF32),
        vectorsB_(asm_, contract.vectorsB, Element::kF32, contract.pairPitchB),
        firstMembersB_(asm_, contract.vectorsB, Element::kF32),
        results_(asm_, contract.keepsInts() ? Element::kI32 : Element::kF32, contract.result),
        readsD_(contract.epilogue.readsD()),
        readsE_(contract.epilogue.readsE()),
        epilogue_(asm_, contract.epilogue),
        e_(asm_, contract.result, Element::kF32),
        pairCode_(asm_, contract.lanes, contract.pairPitchB),
        quadSums_(contract),
        registers_(contract, isa_, quadSums_, {vectorsA_, vectorsB_, results_}) {}

  Result<VectorProgram> run() {
    if (!registers_.fit() || epilogue_.temporaries() > registers_.freeAtEnds().size()) return registers_.tooMany();
    if (c_.products == Products::kPairs && !isa_.bf16Dot) return missing("bf16");
    if (quads() && !isa_.byteDot()) return missing("bytes");
    prologue();
    asm_.loop(kRepeat);
    loadAccumulators();
    asm_.arg(kCounts, ArgSlot::kList);
    asm_.addImm(kSegment, kCounts, static_cast<std::int64_t>(c_.sections.size()) * 8);
    if (c_.copiesB) asm_.arg(kCopy, ArgSlot::kD);
    for (std::size_t s = 0; s < c_.sections.size(); ++s) section(s);
    storeAccumulators();
    asm_.arg(kFlag, ArgSlot::kARepeat);
    asm_.add(kA, kA, kFlag);
    asm_.arg(kFlag, ArgSlot::kBRepeat);
    asm_.add(kB, kB, kFlag);
    asm_.arg(kFlag, ArgSlot::kCRepeat);
    asm_.add(kC, kC, kFlag);
    if (readsD_) {
      asm_.arg(kFlag, ArgSlot::kDRepeat);
      asm_.add(kD, kD, kFlag);
    }
    asm_.endLoop();
    return asm_.take();
  }

 private:
  bool quads() const { return c_.products == Products::kQuads; }
  int signs() const { return registers_.kept() - 1; }
  Error missing(const char* what) const {
    return Error{ErrorCode::kUnsupported, Stage::kVector,
                 c_.label.text + ": " + toString(isa_.level) + " has no dot product of " + what};
  }
  void prologue() {
    std::vector<LaneRange> ranges;
    for (const Section& section : c_.sections) {
      for (const Step& step : section.steps) {
        for (const VectorLoad& b : step.b) ranges.push_back(b.lanes);
        for (const AOperand& a : step.a) ranges.insert(ranges.end(), {a.lanes, a.lanes2, a.useLanes});
      }
    }
    for (const Accumulator& acc : c_.accumulators) {
      ranges.push_back(acc.lanes);
      if (readsE_) ranges.push_back(acc.live());
    }
    asm_.comment("arguments");
    asm_.arg(kA, ArgSlot::kA);
    asm_.arg(kB, ArgSlot::kB);
    asm_.arg(kC, ArgSlot::kC);
    if (readsD_) asm_.arg(kD, ArgSlot::kD);
    asm_.arg(kRepeat, ArgSlot::kRepeat);
    asm_.reserveMasks(ranges);
    if (registers_.pairTables() >= 0) {
      pairCode_.hold(registers_.pairTables());
      pairCode_.loadTables();
    }
    for (const auto& table : c_.tables) tables_.push_back(asm_.addConstant(table));
    for (std::size_t t = 0; registers_.tables() >= 0 && t < tables_.size(); ++t)
      asm_.constant(registers_.tables() + static_cast<int>(t), tables_[t]);
  }

  void loadAccumulators() {
    const std::string begin = c_.combine == Combine::kSum ? "zero" : "infinite";
    asm_.comment(c_.addsToC ? "accumulators" : "accumulators: " + begin + ", or what is in C");
    for (int i = 0; i < registers_.kept(); ++i) {
      if (quads() && i == signs())
        asm_.constant(i, asm_.addUniform(QuadSums::kSigns));
      else if (i == 0 || c_.combine == Combine::kSum)
        asm_.identity(i, c_.combine);
      else
        asm_.move(i, 0, {});  // a move costs less than another load
    }
    if (c_.prefetchResults) {
      for (const Accumulator& acc : c_.accumulators) asm_.prefetchForWrite(kC, acc.cOffset);
    }
    if (c_.addsToC) return;
    asm_.arg(kFlag, ArgSlot::kAccumulate);
    asm_.loop(kFlag);
    for (int i = 0; i < registers_.sums(); ++i) {
      const Accumulator& acc = c_.accumulators[static_cast<std::size_t>(i)];
      asm_.load(i, kC, acc.cOffset, acc.lanes);
    }
    asm_.endLoop();
  }

  void storeAccumulators() {
    asm_.comment("results");
    const int sums = registers_.sums();
    const std::vector<int> free = registers_.freeAtEnds();
    NarrowScratch scratch;
    if (results_.storeNeedsScratch()) scratch = NarrowScratch{free[0], free[1], free[2]};
    for (int i = sums; i < registers_.sets(); ++i) {
      if (quads())
        asm_.binary(VOp::kAddInt, i % sums, i % sums, i);
      else
        combine(i % sums, i, i % sums);
    }
    if (quads()) subtractBias();
    if (c_.addsToC) combineWithC(free);
    if (readsE_) {
      asm_.arg(kE, ArgSlot::kResidual);
      asm_.add(kE, kE, kC);
    }
    for (int i = 0; i < sums; ++i) {
      const Accumulator& acc = c_.accumulators[static_cast<std::size_t>(i)];
      if (epilogue_.any())
        epilogue_.apply(i, free,
                        {.d = [&](int reg) { asm_.load(reg, kD, acc.dOffset); },
                         .e = [&](int reg) { e_.load(reg, -1, kE, acc.cOffset, acc.live()); }});
      if (c_.streamingStore && acc.lanes.all())
        asm_.storeStream(i, kC, acc.cOffset);
      else
        results_.store(i, scratch, kC, acc.cOffset, acc.lanes);
    }
  }

  // Bytes of A are multiplied as what they are and 128 more.
  void subtractBias() {
    for (int i = 0; i < registers_.sums(); ++i) {
      if (quadSums_.of(i) >= 0) asm_.binary(VOp::kSubInt, i, i, registers_.sets() + quadSums_.of(i));
      if (!c_.keepsInts()) asm_.narrow(VOp::kToFloat, i, i);
    }
  }

  void combineWithC(const std::vector<int>& free) {
    asm_.arg(kFlag, ArgSlot::kAccumulate);
    asm_.loop(kFlag);
    for (int i = 0; i < registers_.sums(); ++i) {
      const Accumulator& acc = c_.accumulators[static_cast<std::size_t>(i)];
      const int before = free[static_cast<std::size_t>(i) % free.size()];
      asm_.load(before, kC, acc.cOffset, acc.lanes);
      combine(i, before, i);
    }
    asm_.endLoop();
  }

  void section(std::size_t index) {
    const Section& section = c_.sections[index];
    section_ = index;
    asm_.comment("section " + std::to_string(index) + ": " + std::to_string(section.steps.size()) +
                 " steps an iteration");
    asm_.loadScalar(kSegments, kCounts, static_cast<std::int64_t>(index) * 8);
    forEachIteration(asm_, {kA, kB, kSegment, kAt, kBt, kOuter, kSegments}, [&] {
      copied_ = 0;
      for (std::size_t k = 0; k < section.steps.size(); ++k) {
        set_ = static_cast<int>(k % static_cast<std::size_t>(c_.sets)) * registers_.sums();
        step_ = k;
        emitStep(section.steps[k]);
      }
      if (c_.copiesB) asm_.addImm(kCopy, kCopy, copied_);
      asm_.addImm(kAt, kAt, section.aOuterStep);
      asm_.addImm(kBt, kBt, section.bOuterStep);
    });
  }

  // Behind the vector that was copied last.
  void copy(int reg, const VectorLoad& b) {
    asm_.store(reg, kCopy, copied_, b.lanes);
    copied_ += std::int64_t{c_.lanes} * 4;
  }

  // The step's vectors, in order; those that have no register are loaded for it.
  void copyVectors(const Step& step) {
    for (std::size_t b = 0; c_.copiesB && b < step.b.size(); ++b) {
      int r = registers_.vectorB(static_cast<int>(b));
      if (r < 0) loadB(r = registers_.temporary(), step.b[b]);
      copy(r, step.b[b]);
    }
  }

  void multiply(int acc, int x, int y, LaneRange lanes) {
    if (quads())
      asm_.dotBytes(set_ + acc, x, y);
    else if (c_.products == Products::kPairs)
      asm_.dot(set_ + acc, x, y, lanes);
    else
      asm_.fma(set_ + acc, x, y, lanes);
  }
  void multiplyLoad(int acc, int x, int base, std::int64_t disp) {
    if (quads())
      asm_.dotBytesLoad(set_ + acc, x, base, disp);
    else if (c_.products == Products::kPairs)
      asm_.dotLoad(set_ + acc, x, base, disp);
    else
      asm_.fmaLoad(set_ + acc, x, base, disp);
  }
  void multiplyBroadcast(int acc, int x, int base, std::int64_t disp, LaneRange lanes) {
    if (c_.products == Products::kPairs)
      asm_.dotBroadcast(set_ + acc, x, base, disp, lanes);
    else
      asm_.fmaBroadcast(set_ + acc, x, base, disp, lanes);
  }

  // A step without second members: both operands are masked in registers.
  void emitFirstMembers(const Step& step) {
    const int members = registers_.temporary();
    asm_.constant(members, asm_.addUniform(0xffffU));
    for (std::size_t b = 0; b < step.b.size(); ++b) {
      int r = registers_.vectorB(static_cast<int>(b));
      if (r < 0 && !c_.copiesB) continue;
      if (r < 0) r = registers_.temporary(members);
      firstMembersB_.load(r, -1, kBt, step.b[b].offset, step.b[b].lanes);
      asm_.binary(VOp::kAnd, r, r, members);
      if (c_.copiesB) copy(r, step.b[b]);
    }
    for (const AOperand& a : step.a) {
      const int value = registers_.temporary(members);
      if (a.kind == AKind::kBroadcast)
        asm_.broadcast(value, kAt, a.offset);
      else
        asm_.load(value, kAt, a.offset, a.lanes);
      asm_.binary(VOp::kAnd, value, value, members);
      for (const Use& use : a.uses) {
        int b = registers_.vectorB(use.b);
        if (b < 0) {  // masking one side is enough only if the other is finite; mask both
          b = registers_.temporary(members, value);
          const VectorLoad& load = step.b[static_cast<std::size_t>(use.b)];
          firstMembersB_.load(b, -1, kBt, load.offset, load.lanes);
          asm_.binary(VOp::kAnd, b, b, members);
        }
        multiply(use.acc, value, b, a.useLanes);
      }
    }
  }

  void emitStep(const Step& step) {
    if (step.firstMembers) return emitFirstMembers(step);
    if (step.prefetchB != 0) {
      for (const VectorLoad& b : step.b) asm_.prefetch(kBt, b.offset + step.prefetchB);
    }
    loadKept(step.b);
    copyVectors(step);
    if (quads()) addBias(step);
    for (std::size_t i = 0; i < step.a.size(); ++i) {
      const AOperand& a = step.a[i];
      if (step.prefetchAhead != 0 && a.kind != AKind::kOne) asm_.prefetch(kAt, a.offset + step.prefetchAhead);
      if (i == 0 || !sameScalar(step.a[i - 1], a)) broadcast_ = -1;
      emitOperand(step, a, i + 1 < step.a.size() && sameScalar(a, step.a[i + 1]));
    }
  }

  // The products of 128 and this step's vectors.
  void addBias(const Step& step) {
    for (std::size_t b = 0; b < step.b.size(); ++b) {
      for (const int sum : quadSums_.at({section_, step_, static_cast<int>(b)})) {
        if (const int r = registers_.vectorB(static_cast<int>(b)); r >= 0) {
          asm_.dotBytes(registers_.sets() + sum, signs(), r);
        } else if (step.b[b].lanes.all()) {
          asm_.dotBytesLoad(registers_.sets() + sum, signs(), kBt, step.b[b].offset);
        } else {
          const int loaded = registers_.temporary();
          loadB(loaded, step.b[b]);
          asm_.dotBytes(registers_.sets() + sum, signs(), loaded);
        }
      }
    }
  }

  static bool sameScalar(const AOperand& x, const AOperand& y) {
    return x.kind == AKind::kBroadcast && y.kind == AKind::kBroadcast && x.offset == y.offset;
  }

  // The vectors that stay in registers for a step.
  void loadKept(const std::vector<VectorLoad>& vectors) {
    const bool permuted = vectorsB_.loadNeedsTemporary() && (pairCode_.held() || registers_.temporaries().size() > 1);
    const int kept = std::min(registers_.vectorsB(), static_cast<int>(vectors.size()));
    for (int b = 0; b < kept; ++b) {
      const VectorLoad& load = vectors[static_cast<std::size_t>(b)];
      if (!permuted || !load.lanes.all()) {
        loadB(registers_.vectorB(b), load);
        continue;
      }
      const int second = registers_.temporary(), table = pairCode_.held() ? -1 : registers_.temporary(second);
      if (b + 1 < kept && isBehind(vectors[static_cast<std::size_t>(b + 1)], load)) {
        pairCode_.two(registers_.vectorB(b), registers_.vectorB(b + 1), second, table, kBt, load.offset);
        ++b;
      } else {
        pairCode_.one(registers_.vectorB(b), second, table, kBt, load.offset);
      }
    }
  }

  // Whether a whole vector of 16-bit elements lies right behind another one.
  bool isBehind(const VectorLoad& next, const VectorLoad& load) const {
    return next.lanes.all() && next.offset == load.offset + 2 * c_.lanes;
  }

  void loadB(int reg, const VectorLoad& b, int keep = -1) {
    vectorsB_.load(reg, vectorsB_.loadNeedsTemporary() ? registers_.temporary(keep, reg) : -1, kBt, b.offset, b.lanes);
  }

  // made = combined(combine, value, acc); what is added may come first or last.
  void combine(int made, int value, int acc) {
    if (c_.combine == Combine::kSum)
      asm_.addF(made, acc, value);
    else
      asm_.combine(c_.combine, made, value, acc);
  }

  // Vectors of B as they are. What only some lanes become is made beside the accumulator.
  void combineVectors(const Step& step, const AOperand& one) {
    for (const Use& use : one.uses) {
      const int acc = set_ + use.acc, kept = registers_.vectorB(use.b);
      const int vector = kept >= 0 ? kept : registers_.temporary();
      if (kept < 0) loadB(vector, step.b[static_cast<std::size_t>(use.b)]);
      const bool all = one.useLanes.all();
      const int made = all ? acc : kept >= 0 ? registers_.temporary() : vector;
      combine(made, vector, acc);
      if (!all) asm_.move(acc, made, one.useLanes);
    }
  }

  // `again`: the next operand is the same scalar, for other lanes.
  void emitOperand(const Step& step, const AOperand& a, bool again) {
    if (a.kind == AKind::kOne) return combineVectors(step, a);
    const bool bInRegisters =
        std::all_of(a.uses.begin(), a.uses.end(), [&](const Use& u) { return registers_.vectorB(u.b) >= 0; });
    if (broadcast_ >= 0 && bInRegisters) {
      for (const Use& use : a.uses) multiply(use.acc, broadcast_, registers_.vectorB(use.b), a.useLanes);
      return;
    }
    if (a.kind == AKind::kBroadcast && !quads() && bInRegisters &&
        ((a.uses.size() == 1 && !again) || registers_.temporaries().empty())) {
      for (const Use& use : a.uses) multiplyBroadcast(use.acc, registers_.vectorB(use.b), kAt, a.offset, a.useLanes);
      return;
    }
    if (a.kind == AKind::kVector && a.uses.size() == 1 && a.lanes.all() && a.useLanes.all() && bInRegisters &&
        vectorsA_.plain()) {
      multiplyLoad(a.uses[0].acc, registers_.vectorB(a.uses[0].b), kAt, a.offset);
      return;
    }
    const int value = registers_.temporary();
    switch (a.kind) {
      case AKind::kBroadcast:
        asm_.broadcast(value, kAt, a.offset);
        if (quads()) asm_.binary(VOp::kXor, value, value, signs());
        broadcast_ = value;
        break;
      case AKind::kVector: vectorsA_.load(value, -1, kAt, a.offset, a.lanes); break;
      case AKind::kPermute: {
        vectorsA_.load(value, -1, kAt, a.offset, a.lanes);
        asm_.permute(value, tableRegister(a.table, value, -1), value);
        break;
      }
      case AKind::kPermute2: {
        const int high = registers_.temporary(value);
        vectorsA_.load(value, -1, kAt, a.offset, a.lanes);
        vectorsA_.load(high, -1, kAt, a.offset2, a.lanes2);
        asm_.permute2(value, tableRegister(a.table, value, high), value, high);
        break;
      }
      case AKind::kOne: break;  // has no value
    }
    for (const Use& use : a.uses) {
      const VectorLoad& b = step.b[static_cast<std::size_t>(use.b)];
      if (registers_.vectorB(use.b) >= 0)
        multiply(use.acc, value, registers_.vectorB(use.b), a.useLanes);
      else if (b.lanes.all() && a.useLanes.all() && vectorsB_.plain())
        multiplyLoad(use.acc, value, kBt, b.offset);
      else {
        const int loaded = registers_.temporary(value);
        loadB(loaded, b, value);
        multiply(use.acc, value, loaded, a.useLanes);
      }
    }
  }

  int tableRegister(int table, int keep, int keepToo) {
    if (registers_.tables() >= 0) return registers_.tables() + table;
    const int r = registers_.temporary(keep, keepToo);
    asm_.constant(r, tables_[static_cast<std::size_t>(table)]);
    return r;
  }

  const Contract& c_;
  const HostIsa isa_;
  VectorAssembler asm_;
  ElementCode vectorsA_, vectorsB_, firstMembersB_, results_;
  const bool readsD_, readsE_;  ///< the epilogue
  ExpressionCode epilogue_;
  ElementCode e_;
  PairCode pairCode_;
  const QuadSums quadSums_;
  ContractRegisters registers_;
  std::size_t section_ = 0, step_ = 0;  ///< that is emitted
  int set_ = 0;                         ///< first register of the set of the step that is emitted
  std::vector<int> tables_;
  int broadcast_ = -1;  ///< holds the scalar of the operand before, if the next one is the same scalar for other lanes
  std::int64_t copied_ = 0;  ///< bytes behind D, of an iteration's copies
};

}  // namespace

Result<VectorProgram> unitCode(const Contract& contract, const HostIsa& isa) { return Lowering(contract, isa).run(); }

}  // namespace cubejit
