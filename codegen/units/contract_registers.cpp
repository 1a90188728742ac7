// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/units/contract_registers.h"

#include <algorithm>
#include <string>

#include "codegen/units/pair_code.h"

namespace cubejit {

ContractRegisters::ContractRegisters(const Contract& c, const HostIsa& isa, const QuadSums& quads,
                                     const Elements& elements)
    : c_(c), isa_(isa), sums_(static_cast<int>(c.accumulators.size())) {
  kept_ = sets();
  if (c.products == Products::kQuads) kept_ += quads.count() + 1;  // what is subtracted, and the word of 128s
  describe(elements);
  assign();
}

Error ContractRegisters::tooMany() const {
  return Error{ErrorCode::kLimitExceeded, Stage::kVector,
               c_.label.text + " needs " + std::to_string(registersNeeded(needs_)) +
                   " vector registers for accumulators, operands and temporaries; " + toString(isa_.level) + " has " +
                   std::to_string(registersThere(needs_, isa_)) + " for them"};
}

void ContractRegisters::describe(const Elements& elements) {
  const auto masked = [](const LaneRange& r) { return !r.all(); };
  const bool quads = c_.products == Products::kQuads, readsE = c_.epilogue.readsE();
  needs_.accumulators = kept_;
  needs_.pairsB = elements.vectorsB.loadNeedsTemporary();
  needs_.rounds = elements.results.storeNeedsScratch();
  needs_.masks = std::any_of(c_.accumulators.begin(), c_.accumulators.end(),
                             [&](const Accumulator& a) { return masked(a.lanes) || (readsE && masked(a.live())); });
  // Whether an operand is no memory operand of the instructions that use it. Of one, what some lanes become takes a register.
  const auto inRegister = [&](const AOperand& a) {
    if (a.kind == AKind::kOne) return masked(a.useLanes);
    const bool vector = a.kind == AKind::kVector && a.uses.size() == 1 && a.lanes.all() && a.useLanes.all() &&
                        elements.vectorsA.plain();
    return quads || !(a.kind == AKind::kBroadcast || vector);
  };
  for (const Section& section : c_.sections) {
    for (const Step& step : section.steps) {
      needs_.singles = needs_.singles || step.firstMembers;
      needs_.vectorsB = std::max(needs_.vectorsB, static_cast<std::int64_t>(step.b.size()));
      for (const VectorLoad& b : step.b) needs_.masks = needs_.masks || masked(b.lanes);
      for (const AOperand& a : step.a) {
        needs_.masks = needs_.masks || masked(a.lanes) || masked(a.useLanes);
        needs_.permutesA = needs_.permutesA || a.kind == AKind::kPermute || a.kind == AKind::kPermute2;
        needs_.permutesTwo = needs_.permutesTwo || a.kind == AKind::kPermute2;
        needs_.vectorsA = needs_.vectorsA || inRegister(a);
      }
    }
  }
}

// B's vectors have registers as far as they go beside what is held at the same time; what is left keeps tables.
void ContractRegisters::assign() {
  const bool permutes = needs_.permutesA;
  const int widest = static_cast<int>(needs_.vectorsB), room = there() - kept_;
  needsTemporary_ = needs_.vectorsA || needs_.pairsB;
  int reserve = (needsTemporary_ ? 1 : 0) + (permutes ? 2 : 0);
  if (needs_.singles) reserve = std::max(reserve, 2);  // a value and the members' mask
  if (room - reserve < widest) {                       // some B vectors will be read where they are used
    needsTemporary_ = true;
    reserve = (permutes ? 4 : needs_.singles ? 3 : 2) + (needs_.pairsB ? 1 : 0);
  }
  vectorsB_ = std::clamp(room - reserve, 0, widest);
  int firstFree = kept_ + vectorsB_;
  const auto tables = static_cast<int>(c_.tables.size());
  if (permutes && there() - firstFree - 3 >= tables) {
    tables_ = firstFree;
    firstFree += tables;
  }
  if (needs_.pairsB && there() - firstFree - PairCode::kTables >= held()) {
    pairTables_ = firstFree;
    firstFree += PairCode::kTables;
  }
  for (int r = firstFree; r < there(); ++r) temporaries_.push_back(r);
}

// Most temporaries that hold a value at the same time: temporary() would look for a free one for ever.
int ContractRegisters::held() const {
  if (needs_.permutesA) return tables_ >= 0 ? 2 : 3;
  if (vectorsB_ < needs_.vectorsB) return 2 + (needs_.singles || needs_.pairsB ? 1 : 0);
  return (needsTemporary_ || needs_.singles ? 1 : 0) + (needs_.singles ? 1 : 0);
}

int ContractRegisters::temporary(int keep, int keepToo) {
  int r = -1;
  do r = temporaries_[next_++ % temporaries_.size()];
  while (r == keep || r == keepToo);
  return r;
}

std::vector<int> ContractRegisters::freeAtEnds() const {
  std::vector<int> free;
  for (int r = kept_; r < kept_ + vectorsB_; ++r) free.push_back(r);
  free.insert(free.end(), temporaries_.begin(), temporaries_.end());
  return free;
}

}  // namespace cubejit
