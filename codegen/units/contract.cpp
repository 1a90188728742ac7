// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a contract becomes vector ops: accumulators first, then B vectors, then temporaries for the A side.
// Broadcasts with several uses go through a temporary (a load port is cheaper than re-reading); with one use, or when no
// register is left, they are operands of the FMA itself. Leaves ISA gaps to vector/legalize.
#include "codegen/units/units.h"

#include <algorithm>

#include "codegen/units/assembler.h"
#include "codegen/units/element_code.h"
#include "codegen/units/expression_code.h"
#include "codegen/units/pair_code.h"
#include "codegen/units/quad_sums.h"
#include "codegen/units/segment_loop.h"
#include "cubejit/microkernel_registers.h"

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
        quadSums_(contract) {}

  Result<VectorProgram> run() {
    describe();
    if (!fitsRegisters(needs_, isa_)) return tooMany();
    assignRegisters();
    if (epilogue_.temporaries() > freeAtEnd().size()) return tooMany();
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
  void describe() {
    const auto masked = [](const LaneRange& r) { return !r.all(); };
    sums_ = static_cast<int>(c_.accumulators.size());
    accs_ = sums_ * c_.sets;
    firstBias_ = accs_;
    if (quads()) accs_ += quadSums_.count() + 1;  // what is subtracted, and the word of 128s
    needs_.accumulators = accs_;
    needs_.pairsB = vectorsB_.loadNeedsTemporary();
    needs_.rounds = results_.storeNeedsScratch();
    needs_.masks = std::any_of(c_.accumulators.begin(), c_.accumulators.end(),
                               [&](const Accumulator& a) { return masked(a.lanes) || (readsE_ && masked(a.live())); });
    for (const Section& section : c_.sections) {
      for (const Step& step : section.steps) {
        needs_.singles = needs_.singles || step.firstMembers;
        needs_.vectorsB = std::max(needs_.vectorsB, static_cast<std::int64_t>(step.b.size()));
        for (const VectorLoad& b : step.b) needs_.masks = needs_.masks || masked(b.lanes);
        for (const AOperand& a : step.a) {
          needs_.masks = needs_.masks || masked(a.lanes) || masked(a.useLanes);
          needs_.permutesA = needs_.permutesA || a.kind == AKind::kPermute || a.kind == AKind::kPermute2;
          needs_.permutesTwo = needs_.permutesTwo || a.kind == AKind::kPermute2;
          needs_.vectorsA = needs_.vectorsA || quads() ||
                            !(a.kind == AKind::kBroadcast || (a.kind == AKind::kVector && a.uses.size() == 1 &&
                                                              a.lanes.all() && a.useLanes.all() && vectorsA_.plain()));
        }
      }
    }
  }

  // B's vectors have registers as far as they go beside what is held at the same time; what is left keeps tables.
  void assignRegisters() {
    const bool permutes = needs_.permutesA;
    const int widest = static_cast<int>(needs_.vectorsB), room = registers() - accs_;
    needsTemporary_ = needs_.vectorsA || needs_.pairsB;
    int reserve = (needsTemporary_ ? 1 : 0) + (permutes ? 2 : 0);
    if (needs_.singles) reserve = std::max(reserve, 2);  // a value and the members' mask
    if (room - reserve < widest) {                       // some B vectors will be read where they are used
      needsTemporary_ = true;
      reserve = (permutes ? 4 : needs_.singles ? 3 : 2) + (needs_.pairsB ? 1 : 0);
    }
    bRegisters_ = std::clamp(room - reserve, 0, widest);
    firstFree_ = accs_ + bRegisters_;
    if (permutes && registers() - firstFree_ - 3 >= static_cast<int>(c_.tables.size())) {
      firstTable_ = firstFree_;
      firstFree_ += static_cast<int>(c_.tables.size());
    }
    if (needs_.pairsB && registers() - firstFree_ - PairCode::kTables >= temporariesHeld()) {
      pairCode_.hold(firstFree_);
      firstFree_ += PairCode::kTables;
    }
    for (int r = firstFree_; r < registers(); ++r) temporaries_.push_back(r);
  }

  // Most temporaries that hold a value at the same time: nextTemporary() would look for a free one for ever.
  int temporariesHeld() const {
    if (needs_.permutesA) return firstTable_ >= 0 ? 2 : 3;
    if (bRegisters_ < needs_.vectorsB) return 2 + (needs_.singles || needs_.pairsB ? 1 : 0);
    return (needsTemporary_ || needs_.singles ? 1 : 0) + (needs_.singles ? 1 : 0);
  }

  // What is not needed any more when results are stored: B's vectors and temporaries.
  std::vector<int> freeAtEnd() const {
    std::vector<int> free;
    for (int r = accs_; r < accs_ + bRegisters_; ++r) free.push_back(r);
    free.insert(free.end(), temporaries_.begin(), temporaries_.end());
    return free;
  }

  int registers() const { return static_cast<int>(registersThere(needs_, isa_)); }

  bool quads() const { return c_.products == Products::kQuads; }
  int signs() const { return accs_ - 1; }
  Error missing(const char* what) const {
    return Error{ErrorCode::kUnsupported, Stage::kVector,
                 c_.label.text + ": " + toString(isa_.level) + " has no dot product of " + what};
  }
  Error tooMany() const {
    return Error{ErrorCode::kLimitExceeded, Stage::kVector,
                 c_.label.text + " needs " + std::to_string(registersNeeded(needs_)) +
                     " vector registers for accumulators, operands and temporaries; " + toString(isa_.level) + " has " +
                     std::to_string(registersThere(needs_, isa_)) + " for them"};
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
    if (pairCode_.held()) pairCode_.loadTables();
    for (const auto& table : c_.tables) tables_.push_back(asm_.addConstant(table));
    for (std::size_t t = 0; firstTable_ >= 0 && t < tables_.size(); ++t)
      asm_.constant(firstTable_ + static_cast<int>(t), tables_[t]);
  }

  void loadAccumulators() {
    asm_.comment(c_.addsToC ? "accumulators" : "accumulators: zero, or what is in C");
    for (int i = 0; i < accs_; ++i) {
      if (quads() && i == signs())
        asm_.constant(i, asm_.addUniform(QuadSums::kSigns));
      else
        asm_.zero(i);
    }
    if (c_.prefetchResults) {
      for (const Accumulator& acc : c_.accumulators) asm_.prefetchForWrite(kC, acc.cOffset);
    }
    if (c_.addsToC) return;
    asm_.arg(kFlag, ArgSlot::kAccumulate);
    asm_.loop(kFlag);
    for (int i = 0; i < sums_; ++i) {
      const Accumulator& acc = c_.accumulators[static_cast<std::size_t>(i)];
      asm_.load(i, kC, acc.cOffset, acc.lanes);
    }
    asm_.endLoop();
  }

  void storeAccumulators() {
    asm_.comment("results");
    NarrowScratch scratch;
    if (results_.storeNeedsScratch()) {
      const std::vector<int> free = freeAtEnd();
      scratch = NarrowScratch{free[0], free[1], free[2]};
    }
    for (int i = sums_; i < firstBias_; ++i) asm_.binary(quads() ? VOp::kAddInt : VOp::kAddF, i % sums_, i % sums_, i);
    if (quads()) subtractBias();
    if (c_.addsToC) addWhatIsInC();
    if (readsE_) {
      asm_.arg(kE, ArgSlot::kResidual);
      asm_.add(kE, kE, kC);
    }
    for (int i = 0; i < sums_; ++i) {
      const Accumulator& acc = c_.accumulators[static_cast<std::size_t>(i)];
      if (epilogue_.any())
        epilogue_.apply(i, freeAtEnd(),
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
    for (int i = 0; i < sums_; ++i) {
      if (quadSums_.of(i) >= 0) asm_.binary(VOp::kSubInt, i, i, firstBias_ + quadSums_.of(i));
      if (!c_.keepsInts()) asm_.narrow(VOp::kToFloat, i, i);
    }
  }

  void addWhatIsInC() {
    const std::vector<int> free = freeAtEnd();
    asm_.arg(kFlag, ArgSlot::kAccumulate);
    asm_.loop(kFlag);
    for (int i = 0; i < sums_; ++i) {
      const Accumulator& acc = c_.accumulators[static_cast<std::size_t>(i)];
      const int before = free[static_cast<std::size_t>(i) % free.size()];
      asm_.load(before, kC, acc.cOffset, acc.lanes);
      asm_.addF(i, i, before);
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
        set_ = static_cast<int>(k % static_cast<std::size_t>(c_.sets)) * sums_;
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
      int r = bRegister(static_cast<int>(b));
      if (r < 0) loadB(r = nextTemporary(), step.b[b]);
      copy(r, step.b[b]);
    }
  }

  int bRegister(int b) const { return b < bRegisters_ ? accs_ + b : -1; }

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
    const int members = nextTemporary();
    asm_.constant(members, asm_.addUniform(0xffffU));
    for (std::size_t b = 0; b < step.b.size(); ++b) {
      int r = bRegister(static_cast<int>(b));
      if (r < 0 && !c_.copiesB) continue;
      if (r < 0) r = nextTemporary(members);
      firstMembersB_.load(r, -1, kBt, step.b[b].offset, step.b[b].lanes);
      asm_.binary(VOp::kAnd, r, r, members);
      if (c_.copiesB) copy(r, step.b[b]);
    }
    for (const AOperand& a : step.a) {
      const int value = nextTemporary(members);
      if (a.kind == AKind::kBroadcast)
        asm_.broadcast(value, kAt, a.offset);
      else
        asm_.load(value, kAt, a.offset, a.lanes);
      asm_.binary(VOp::kAnd, value, value, members);
      for (const Use& use : a.uses) {
        int b = bRegister(use.b);
        if (b < 0) {  // masking one side is enough only if the other is finite; mask both
          b = nextTemporary(members, value);
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
      if (step.prefetchAhead != 0) asm_.prefetch(kAt, a.offset + step.prefetchAhead);
      if (i == 0 || !sameScalar(step.a[i - 1], a)) broadcast_ = -1;
      emitOperand(step, a, i + 1 < step.a.size() && sameScalar(a, step.a[i + 1]));
    }
  }

  // The products of 128 and this step's vectors.
  void addBias(const Step& step) {
    for (std::size_t b = 0; b < step.b.size(); ++b) {
      for (const int sum : quadSums_.at({section_, step_, static_cast<int>(b)})) {
        if (const int r = bRegister(static_cast<int>(b)); r >= 0) {
          asm_.dotBytes(firstBias_ + sum, signs(), r);
        } else if (step.b[b].lanes.all()) {
          asm_.dotBytesLoad(firstBias_ + sum, signs(), kBt, step.b[b].offset);
        } else {
          const int loaded = nextTemporary();
          loadB(loaded, step.b[b]);
          asm_.dotBytes(firstBias_ + sum, signs(), loaded);
        }
      }
    }
  }

  static bool sameScalar(const AOperand& x, const AOperand& y) {
    return x.kind == AKind::kBroadcast && y.kind == AKind::kBroadcast && x.offset == y.offset;
  }

  // The vectors that stay in registers for a step.
  void loadKept(const std::vector<VectorLoad>& vectors) {
    const bool permuted = vectorsB_.loadNeedsTemporary() && (pairCode_.held() || temporaries_.size() > 1);
    const int kept = std::min(bRegisters_, static_cast<int>(vectors.size()));
    for (int b = 0; b < kept; ++b) {
      const VectorLoad& load = vectors[static_cast<std::size_t>(b)];
      if (!permuted || !load.lanes.all()) {
        loadB(bRegister(b), load);
        continue;
      }
      const int second = nextTemporary(), table = pairCode_.held() ? -1 : nextTemporary(second);
      if (b + 1 < kept && isBehind(vectors[static_cast<std::size_t>(b + 1)], load)) {
        pairCode_.two(bRegister(b), bRegister(b + 1), second, table, kBt, load.offset);
        ++b;
      } else {
        pairCode_.one(bRegister(b), second, table, kBt, load.offset);
      }
    }
  }

  // Whether a whole vector of 16-bit elements lies right behind another one.
  bool isBehind(const VectorLoad& next, const VectorLoad& load) const {
    return next.lanes.all() && next.offset == load.offset + 2 * c_.lanes;
  }

  void loadB(int reg, const VectorLoad& b, int keep = -1) {
    vectorsB_.load(reg, vectorsB_.loadNeedsTemporary() ? nextTemporary(keep, reg) : -1, kBt, b.offset, b.lanes);
  }

  // The next temporary in turn, but neither `keep` nor `keepToo`, which still hold values.
  int nextTemporary(int keep = -1, int keepToo = -1) {
    int r = -1;
    do r = temporaries_[next_++ % temporaries_.size()];
    while (r == keep || r == keepToo);
    return r;
  }

  // `again`: the next operand is the same scalar, for other lanes.
  void emitOperand(const Step& step, const AOperand& a, bool again) {
    const bool bInRegisters =
        std::all_of(a.uses.begin(), a.uses.end(), [&](const Use& u) { return bRegister(u.b) >= 0; });
    if (broadcast_ >= 0 && bInRegisters) {
      for (const Use& use : a.uses) multiply(use.acc, broadcast_, bRegister(use.b), a.useLanes);
      return;
    }
    if (a.kind == AKind::kBroadcast && !quads() && bInRegisters &&
        ((a.uses.size() == 1 && !again) || temporaries_.empty())) {
      for (const Use& use : a.uses) multiplyBroadcast(use.acc, bRegister(use.b), kAt, a.offset, a.useLanes);
      return;
    }
    if (a.kind == AKind::kVector && a.uses.size() == 1 && a.lanes.all() && a.useLanes.all() && bInRegisters &&
        vectorsA_.plain()) {
      multiplyLoad(a.uses[0].acc, bRegister(a.uses[0].b), kAt, a.offset);
      return;
    }
    const int value = nextTemporary();
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
        const int high = nextTemporary(value);
        vectorsA_.load(value, -1, kAt, a.offset, a.lanes);
        vectorsA_.load(high, -1, kAt, a.offset2, a.lanes2);
        asm_.permute2(value, tableRegister(a.table, value, high), value, high);
        break;
      }
    }
    for (const Use& use : a.uses) {
      const VectorLoad& b = step.b[static_cast<std::size_t>(use.b)];
      if (bRegister(use.b) >= 0)
        multiply(use.acc, value, bRegister(use.b), a.useLanes);
      else if (b.lanes.all() && a.useLanes.all() && vectorsB_.plain())
        multiplyLoad(use.acc, value, kBt, b.offset);
      else {
        const int loaded = nextTemporary(value);
        loadB(loaded, b, value);
        multiply(use.acc, value, loaded, a.useLanes);
      }
    }
  }

  int tableRegister(int table, int keep, int keepToo) {
    if (firstTable_ >= 0) return firstTable_ + table;
    const int r = nextTemporary(keep, keepToo);
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
  int sums_ = 0, accs_ = 0;  ///< results, and registers that are kept all along: their sets, and what quads take
  int firstBias_ = 0;        ///< of quads: behind the sets
  std::size_t section_ = 0, step_ = 0;  ///< that is emitted
  int set_ = 0;                         ///< first register of the set of the step that is emitted
  int bRegisters_ = 0, firstFree_ = 0, firstTable_ = -1;
  MicrokernelRegisters needs_;
  bool needsTemporary_ = false;
  std::vector<int> temporaries_, tables_;
  int broadcast_ = -1;  ///< holds the scalar of the operand before, if the next one is the same scalar for other lanes
  std::size_t next_ = 0;
  std::int64_t copied_ = 0;  ///< bytes behind D, of an iteration's copies
};

}  // namespace

Result<VectorProgram> unitCode(const Contract& contract, const HostIsa& isa) { return Lowering(contract, isa).run(); }

}  // namespace cubejit
