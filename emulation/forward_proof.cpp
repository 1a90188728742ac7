// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers, and compares.
#include "emulation/forward_proof.h"

#include <cstring>
#include <random>

#include "codegen/tile/element.h"
#include "emulation/forward.h"
#include "emulation/seen_fractals.h"

namespace cubejit {
namespace {

constexpr int kDigitBits = 8;  // bf16 holds integers up to 256

// Elements of L1 as digit `round` of their number, counted from 1: only zeros that a move makes are zero in every round.
void fillWithNumbers(CoreMemory& memory, DType type, int round) {
  const std::int64_t elements = memory.bytes(CoreBuffer::kL1) / byteSize(type);
  auto* to = reinterpret_cast<char*>(memory.at(CoreBuffer::kL1));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t digit = (i + 1) >> (round * kDigitBits) & ((1 << kDigitBits) - 1);
    writeElement(elementOf(type), to + i * byteSize(type), bitsOf(static_cast<float>(digit)));
  }
}

void fillWithBits(CoreMemory& memory) {
  std::mt19937_64 random(1);
  auto* to = memory.at(CoreBuffer::kL1);
  for (std::int64_t i = 0; i + 8 <= memory.bytes(CoreBuffer::kL1); i += 8) {
    const std::uint64_t bits = random();
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

int rounds(const CoreMemory& memory, DType type) {
  int n = 1;
  for (std::int64_t most = memory.bytes(CoreBuffer::kL1) / byteSize(type); most >> (n * kDigitBits) != 0;) ++n;
  return n;
}

// Where two readers of the same fractals disagree; empty if nowhere. Along k are words.
// `pairsOfWords`: words are added two by two, in an order of their own.
std::string difference(const Mmad& i, const CubeOperands& x, const CubeOperands& y, bool pairsOfWords) {
  if (y.seen != nullptr && (y.seen->units != i.k1 || y.seen->m1 != i.m1)) return "fractals that are seen";
  const std::int64_t w = x.words, ks = i.k1 * w;
  // From here on staged operands must be zero, if any are left out: the last ones that are multiplied, too.
  const std::int64_t zeros = y.along == ks ? ks : y.along - (pairsOfWords ? 2 : 1);
  const auto a = [&](const CubeOperands& o, std::int64_t m, std::int64_t k) {
    return bitsOf(o.a[k / w * o.aStepK + m / 16 * o.aStepM + m % 16 * w + k % w]);
  };
  const auto at = [](const char* name, std::int64_t first, std::int64_t second) {
    return std::string(name) + " at (" + std::to_string(first) + ", " + std::to_string(second) + ")";
  };
  const std::vector<std::int64_t> positions = y.seen != nullptr ? y.seen->positions() : std::vector<std::int64_t>{};
  for (std::int64_t m = 0; m < i.m1 * 16; ++m) {
    const std::int64_t there = y.seen != nullptr ? positions[static_cast<std::size_t>(m)] : m;
    if (there >= y.rows) {  // what is left out fills up a fractal
      for (std::int64_t k = 0; k < ks; ++k) {
        if (a(x, m, k) != 0) return at("A, a row that is left out,", m, k);
      }
      continue;
    }
    for (std::int64_t k = 0; k < ks; ++k) {
      if (k >= zeros && a(x, m, k) != 0) return at("A, behind what is multiplied,", m, k);
      if (k >= y.along) continue;
      const bool leftOut = y.seen != nullptr && !y.seen->at(k / w, there);
      if (a(x, m, k) != (leftOut ? 0 : a(y, there, k))) return at("A", m, k);
    }
  }
  if (y.seen != nullptr && y.seen->count == 0) return {};
  for (std::int64_t j = 0; j < i.n1 * 16 * ks; ++j) {
    const std::int64_t k = j / 16 % ks;
    if (k >= zeros && bitsOf(x.b[j]) != 0) return at("B, behind what is multiplied,", k, j / 16 / ks * 16 + j % 16);
    if (k < y.along && bitsOf(x.b[j]) != bitsOf(y.b[j])) return at("B", j / 16 % ks, j / 16 / ks * 16 + j % 16);
  }
  return {};
}

class BothWays {
 public:
  BothWays(const UnitCode& code, const UnitContext& c, const Machine& machine)
      : code_(code), c_(c), memory_(machine.buffers), staged_(machine.buffers), forwarded_(machine.buffers) {}

  bool complete() const { return memory_.complete() && staged_.complete() && forwarded_.complete(); }
  CoreMemory& memory() { return memory_; }

  Status run(const UnitProgram& staged, const ForwardedProgram& forwarded, const ForwardWay& way) {
    way_ = way;
    if (way.onlySeen)
      numbers_.assign(memory_.at(CoreBuffer::kL1), memory_.at(CoreBuffer::kL1, memory_.bytes(CoreBuffer::kL1)));
    for (const CoreBuffer b : {CoreBuffer::kL0a, CoreBuffer::kL0b})  // what nobody writes is nobody's
      std::memset(memory_.at(b), 0x11, static_cast<std::size_t>(memory_.bytes(b)));
    for (std::size_t i = 0; i < staged.size(); ++i) {
      const auto *unfold = std::get_if<Unfold>(&staged[i]),
                 *alsoUnfold = std::get_if<Unfold>(&forwarded[i].instruction);
      if (way.onlySeen && unfold != nullptr) zeroGaps(unfold->piece);  // one a step
      if (way.onlySeen && alsoUnfold != nullptr) findSeen(*alsoUnfold, c_.work, forwarded_.seen);
      move(staged[i], {staged[i]});
      move(forwarded[i].instruction, forwarded[i]);
      const auto* mmad = std::get_if<Mmad>(&staged[i]);
      if (mmad == nullptr) continue;
      const auto* other = std::get_if<Mmad>(&forwarded[i].instruction);
      const std::string wrong = other == nullptr || !(*other == *mmad)
                                    ? "the sums"
                                    : difference(*mmad, readOperands(code_, *mmad, c_, way_.pairs, staged_, memory_),
                                                 read(forwarded[i]), c_.work.type == DType::kBf16 && !way_.pairs);
      if (!wrong.empty())
        return Error{ErrorCode::kInternal, Stage::kRun,
                     "'" + toString(staged[i]) + "' forwarded: " + wrong + " differ"};
    }
    return Unit{};
  }

 private:
  ForwardWay wayOf(const ForwardStep& step) const {
    return {way_.pairs, way_.onlySeen && step.onlyReader, step.rows, step.along};
  }
  CubeOperands read(const ForwardStep& step) {
    const Mmad& mmad = *std::get_if<Mmad>(&step.instruction);
    return step.forwarded ? forwardedOperands(mmad, c_, wayOf(step), forwarded_)
                          : readOperands(code_, mmad, c_, way_.pairs, forwarded_, memory_);
  }
  void move(const UnitInstruction& instruction, const ForwardStep& step) {
    const auto by = [&](const auto& i) {
      step.forwarded ? forward(code_, i, c_, wayOf(step), forwarded_, memory_) : execute(code_, i, c_, memory_);
    };
    if (const auto* i = std::get_if<Unfold>(&instruction)) by(*i);
    if (const auto* i = std::get_if<LoadFractals>(&instruction)) by(*i);
  }

  // What a load of a spread image leaves between its elements, and nowhere else in L1.
  void zeroGaps(const LoadImage& piece) {
    constexpr std::int64_t kRun = 32;
    if (!c_.work.spread) return;
    std::memcpy(memory_.at(CoreBuffer::kL1), numbers_.data(), numbers_.size());
    std::byte* run = memory_.at(CoreBuffer::kL1, piece.l1);
    for (std::int64_t b = 0; b < piece.blocks.count; ++b) {
      for (std::int64_t r = piece.rows.begin; r < piece.rows.end(); ++r) {
        for (std::int64_t x = piece.columns.begin; x < piece.columns.end(); ++x, run += kRun) {
          if (r % c_.work.stride.h != 0 || x % c_.work.stride.w != 0) std::memset(run, 0, kRun);
        }
      }
    }
  }

  const UnitCode& code_;
  const UnitContext& c_;
  CoreMemory memory_;
  CubePanels staged_, forwarded_;
  ForwardWay way_;
  std::vector<std::byte> numbers_;  ///< L1 as it was filled
};

}  // namespace

Status proveForwarding(const UnitCode& code, const UnitProgram& staged, const ForwardedProgram& forwarded,
                       const UnitContext& c, const Machine& machine) {
  BothWays both(code, c, machine);
  if (!both.complete())
    return Error{ErrorCode::kLimitExceeded, Stage::kRun, "no memory for the buffers of a core of " + machine.name};
  const int all = rounds(both.memory(), c.work.type);
  for (int round = 0; round <= all; ++round) {
    for (const bool onlySeen : {false, true}) {
      if (onlySeen && !leavesFractalsUnseen(c.work)) continue;
      for (const bool pairs : {false, true}) {
        if (pairs && !code.dots) continue;
        if (round < all)
          fillWithNumbers(both.memory(), c.work.type, round);
        else
          fillWithBits(both.memory());
        CUBEJIT_TRY(same, both.run(staged, forwarded, {pairs, onlySeen}));
        static_cast<void>(same);
      }
    }
  }
  return Unit{};
}

}  // namespace cubejit
