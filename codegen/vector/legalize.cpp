// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rewrites for ISAs without opmasks: a mask becomes a constant vector of all-ones and zero lanes.
// A mask keeps a register of its own while there are registers the program never mentions, those of inner loops first;
// otherwise the constant is loaded before each use. Sums under a mask add -0 to the lanes that they leave alone, where they can.
#include "codegen/vector/legalize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "codegen/vector/liveness.h"
#include "codegen/vector/op_table.h"
#include "codegen/vector/print.h"
#include "codegen/vector/verify.h"

namespace cubejit {
namespace {

constexpr int kMasks = 8;           // opmask numbers 1 .. 7
constexpr int kBlockLanes = 4;      // of a 128-bit block
constexpr std::int64_t kNone = -1;  // no range is known

class Rewriter {
 public:
  explicit Rewriter(const VectorProgram& program) : in_(program), live_(liveAfter(program)) {
    out_.name = in_.name;
    out_.isa = in_.isa;
    out_.constants = in_.constants;
  }

  Result<VectorProgram> run() {
    if (in_.isa.maskRegs == 0) keepMasks();
    auto comment = in_.comments.begin();
    for (at_ = 0; at_ < in_.code.size(); ++at_) {
      moveComments(comment, at_);
      const VInstr& i = in_.code[at_];
      if (i.op == VOp::kLoop) forgetMasksSetInside(at_);
      taken_ = live_[at_] | vectorsRead(i) | vectorsWritten(i) | kept_;
      neutral_ &= ~vectorsWritten(i);  // what reads a neutral vector does not write it
      if (isLegal(i, in_.isa))
        push(i);
      else
        rewrite(i);
      // The body may not have run, so nothing set in it is known behind it.
      if (i.op == VOp::kEndLoop) forgetMasksSetInside(loops_.back());
      if (i.op == VOp::kLoop) loops_.push_back(at_);
      if (i.op == VOp::kEndLoop) loops_.pop_back();
    }
    moveComments(comment, in_.code.size());
    if (missing_ > 0) {
      return Error{ErrorCode::kLimitExceeded, Stage::kVector,
                   in_.name + ": rewriting for " + toString(in_.isa.level) + " needs " + std::to_string(missing_) +
                       " more scratch vector registers than are free at `" + where_ + "`"};
    }
    if (!problem_.empty()) return Error{ErrorCode::kInternal, Stage::kVector, in_.name + ": " + problem_};
    return std::move(out_);
  }

 private:
  using Comments = std::vector<std::pair<std::int32_t, std::string>>;
  void moveComments(Comments::const_iterator& next, std::size_t before) {
    for (; next != in_.comments.end() && next->first <= static_cast<std::int64_t>(before); ++next) {
      out_.comments.emplace_back(static_cast<std::int32_t>(out_.code.size()), next->second);
    }
  }

  VectorSet registers() const { return in_.isa.vectorRegs == 32 ? ~VectorSet{0} : vectorBit(in_.isa.vectorRegs) - 1; }

  // Gives masks registers that nothing in the program mentions and no rewrite needs.
  void keepMasks() {
    VectorSet mentioned = 0;
    std::array<double, kMasks> uses{};
    double weight = 1;
    for (const VInstr& i : in_.code) {
      mentioned |= vectorsRead(i) | vectorsWritten(i);
      if (i.mask > 0) uses[static_cast<std::size_t>(i.mask)] += weight;
      if (i.op == VOp::kLoop) weight *= 16;
      if (i.op == VOp::kEndLoop) weight /= 16;
    }
    const VectorSet unused = registers() & ~mentioned;
    int reserved = 0;
    for (std::size_t i = 0; i < in_.code.size(); ++i) {
      const VectorSet dead =
          registers() & mentioned & ~(live_[i] | vectorsRead(in_.code[i]) | vectorsWritten(in_.code[i]));
      reserved = std::max(reserved, scratchRegisters(in_.code[i], in_.isa) - std::popcount(dead));
    }
    VectorSet free = unused;
    for (int spare = std::popcount(unused) - reserved; spare > 0; --spare) {
      const auto most = std::max_element(uses.begin(), uses.end());
      if (*most <= 0) break;
      const int reg = std::countr_zero(free);
      free &= ~vectorBit(reg);
      kept_ |= vectorBit(reg);
      home_[static_cast<std::size_t>(most - uses.begin())] = reg;
      *most = 0;
    }
  }

  // A range is known only on a straight way from its kMaskRange.
  void forgetMasksSetInside(std::size_t loop) {
    int depth = 0;
    for (std::size_t i = loop; i < in_.code.size(); ++i) {
      const VInstr& instr = in_.code[i];
      if (instr.op == VOp::kLoop) ++depth;
      if (instr.op == VOp::kEndLoop && --depth == 0) return;
      if (instr.op == VOp::kMaskRange) range_[static_cast<std::size_t>(instr.dst)] = kNone;
    }
  }

  void push(const VInstr& i) { out_.code.push_back(i); }

  // A register whose value nobody needs at this instruction.
  std::int8_t take() {
    const VectorSet free = registers() & ~taken_;
    if (free == 0) {
      ++shortAt_;
      if (shortAt_ > missing_) {
        missing_ = shortAt_;
        where_ = print(in_.code[at_]);
      }
      return 0;
    }
    const int reg = std::bit_width(free) - 1;
    taken_ |= vectorBit(reg);
    return static_cast<std::int8_t>(reg);
  }

  std::int64_t laneConstant(std::int64_t range, std::int32_t active, std::int32_t inactive) {
    std::vector<std::int32_t> words(static_cast<std::size_t>(in_.isa.lanes()), inactive);
    for (int l = maskLo(range); l < maskHi(range); ++l) words[static_cast<std::size_t>(l)] = active;
    return constant(std::move(words));
  }

  std::int64_t maskConstant(std::int64_t range) { return laneConstant(range, -1, 0); }

  // The four words again and again.
  std::int64_t wordsConstant(const std::array<std::int32_t, 4>& words) {
    std::vector<std::int32_t> all;
    for (int l = 0; l < in_.isa.lanes(); ++l) all.push_back(words[static_cast<std::size_t>(l % 4)]);
    return constant(std::move(all));
  }

  std::int64_t constant(std::vector<std::int32_t> words) {
    const auto at = std::find(out_.constants.begin(), out_.constants.end(), words);
    if (at != out_.constants.end()) return at - out_.constants.begin();
    out_.constants.push_back(std::move(words));
    return static_cast<std::int64_t>(out_.constants.size()) - 1;
  }

  // The vector of opmask `k`; loaded into `into` if it has no home, or into a scratch register if `into` is -1.
  std::int8_t maskVector(int k, std::int8_t into = -1) {
    const auto index = static_cast<std::size_t>(k);
    if (home_[index] >= 0) return static_cast<std::int8_t>(home_[index]);
    if (range_[index] == kNone)
      problem_ = "`" + print(in_.code[at_]) + "`: the mask's value depends on how often a loop ran";
    const std::int8_t reg = into >= 0 ? into : take();
    push({.op = VOp::kConst, .dst = reg, .imm = maskConstant(std::max<std::int64_t>(range_[index], 0))});
    return reg;
  }

  void rewrite(const VInstr& i) {
    shortAt_ = 0;
    switch (i.op) {
      case VOp::kMaskRange: setMask(i); break;
      case VOp::kLoad: load(i); break;
      case VOp::kStore: store(i); break;
      case VOp::kMove: blend(i.dst, i.src1, i.mask); break;
      case VOp::kFma: isNeutral(i.src2) ? fma(i, i.src2, i.src1) : fma(i, i.src1, i.src2); break;
      case VOp::kFmaBroadcast: {
        const std::int8_t word = take();
        push({.op = VOp::kBroadcast, .dst = word, .mem = i.mem});
        fma(i, i.src1, word);
        break;
      }
      case VOp::kPermute2: permute2(i); break;
      case VOp::kScale: scale(i); break;
      case VOp::kLoadHalf: loadLow(i, VOp::kLoadWords, VOp::kWidenHalf); break;
      case VOp::kLoadF16: loadLow(i, VOp::kLoadWords, VOp::kWidenF16); break;
      case VOp::kLoadI8: loadLow(i, VOp::kLoadBytes, VOp::kWidenI8); break;
      case VOp::kStoreHalf: storeHalf(i); break;
      case VOp::kStoreF16: storeLow(i, VOp::kNarrowF16, VOp::kStoreWords); break;
      case VOp::kStoreI8: storeLow(i, VOp::kNarrowI8, VOp::kStoreBytes); break;
      default: problem_ = "`" + print(i) + "` has no rewrite"; break;
    }
  }

  // The lanes an instruction works on.
  std::int64_t rangeOf(const VInstr& i) {
    if (i.mask < 0) return std::int64_t{in_.isa.lanes()} << 8;
    const std::int64_t range = range_[static_cast<std::size_t>(i.mask)];
    if (range == kNone) problem_ = "`" + print(in_.code[at_]) + "`: the mask's value depends on how often a loop ran";
    return std::max<std::int64_t>(range, 0);
  }

  // Block by block; the upper one's lanes are moved down first.
  void store(const VInstr& i) {
    const std::int64_t range = rangeOf(i);
    const int lo = maskLo(range), hi = maskHi(range);
    const auto lanes = [&](std::int8_t from, int block, int first, int last) {
      push({.op = VOp::kStoreLanes,
            .src1 = from,
            .mem = {i.mem.base, i.mem.disp + block * kBlockLanes * 4},
            .imm = first | std::int64_t{last} << 8});
    };
    if (lo < kBlockLanes) lanes(i.src1, 0, lo, std::min(hi, kBlockLanes));
    if (hi <= kBlockLanes) return;
    const std::int8_t upper = take();
    push({.op = VOp::kShuffleBlocks, .dst = upper, .src1 = i.src1, .src2 = i.src1, .imm = 3});
    lanes(upper, 1, std::max(0, lo - kBlockLanes), hi - kBlockLanes);
  }

  // Elements that fill the lower part of a register.
  void loadLow(const VInstr& i, VOp load, VOp widen) {
    push({.op = load, .dst = i.dst, .mem = i.mem, .imm = rangeOf(i)});
    push({.op = widen, .dst = i.dst, .src1 = i.dst});
  }
  void storeLow(const VInstr& i, VOp narrow, VOp store) {
    const std::int8_t packed = take();
    push({.op = narrow, .dst = packed, .src1 = i.src1});
    push({.op = store, .src1 = packed, .mem = i.mem, .imm = rangeOf(i)});
  }

  // The lower halves of each block's lanes, side by side; then the blocks.
  void storeHalf(const VInstr& i) {
    const std::int8_t table = take(), packed = take();
    push({.op = VOp::kConst, .dst = table, .imm = wordsConstant({0x05040100, 0x0d0c0908, -1, -1})});
    push({.op = VOp::kShuffleBytes, .dst = packed, .src1 = table, .src2 = i.src1});
    push({.op = VOp::kConst, .dst = table, .imm = wordsConstant({0, 1, 4, 5})});
    push({.op = VOp::kPermute, .dst = packed, .src1 = table, .src2 = packed});
    push({.op = VOp::kStoreWords, .src1 = packed, .mem = i.mem, .imm = rangeOf(i)});
  }

  void setMask(const VInstr& i) {
    const auto index = static_cast<std::size_t>(i.dst);
    range_[index] = i.imm;
    if (home_[index] >= 0)
      push({.op = VOp::kConst, .dst = static_cast<std::int8_t>(home_[index]), .imm = maskConstant(i.imm)});
  }

  // dst = lanes of k ? value : dst
  void blend(std::int8_t dst, std::int8_t value, int k) {
    const std::int8_t mask = maskVector(k);
    push({.op = VOp::kBlendVector, .dst = dst, .src1 = dst, .src2 = value, .src3 = mask});
  }

  // Whether all that reads what a masked load fills are sums under the load's own mask.
  bool feedsMaskedSums(std::size_t load) const {
    const std::int8_t loaded = in_.code[load].dst, mask = in_.code[load].mask;
    for (std::size_t i = load + 1; i < in_.code.size() && (live_[i - 1] & vectorBit(loaded)) != 0; ++i) {
      const VInstr& to = in_.code[i];
      if (to.op == VOp::kLoop || to.op == VOp::kEndLoop || (to.op == VOp::kMaskRange && to.dst == mask)) return false;
      const bool sums = (to.op == VOp::kFma || to.op == VOp::kFmaBroadcast) && to.mask == mask && to.dst != loaded &&
                        to.src1 != to.src2;
      if ((vectorsRead(to) & vectorBit(loaded)) != 0 && !sums) return false;
    }
    return true;
  }

  bool isNeutral(std::int8_t reg) const { return (neutral_ & vectorBit(reg)) != 0; }

  // Inactive lanes are +0; -0 if masked sums alone read them, and a register is free for the signs.
  void load(const VInstr& i) {
    push({.op = VOp::kLoadMaskVector, .dst = i.dst, .src1 = maskVector(i.mask, i.dst), .mem = i.mem});
    if ((registers() & ~taken_) == 0 || !feedsMaskedSums(at_)) return;
    const std::int8_t signs = take();
    push({.op = VOp::kConst,
          .dst = signs,
          .imm = laneConstant(rangeOf(i), 0, std::numeric_limits<std::int32_t>::min())});
    push({.op = VOp::kOr, .dst = i.dst, .src1 = i.dst, .src2 = signs});
    neutral_ |= vectorBit(i.dst);
  }

  // dst = vector * factor + dst. Under a mask, -0 * +0 is added to lanes that keep what they hold, be it -0 or a NaN, if `vector`'s are -0;
  // else the sum is a copy, of which the active lanes are kept.
  void fma(const VInstr& i, std::int8_t vector, std::int8_t factor) {
    if (i.mask < 0 || in_.isa.maskedMemory) {
      push({.op = VOp::kFma, .dst = i.dst, .src1 = vector, .src2 = factor, .mask = i.mask});
    } else if (isNeutral(vector)) {
      const std::int8_t masked = i.op == VOp::kFmaBroadcast ? factor : take();  // a word that nobody else reads
      push({.op = VOp::kAnd, .dst = masked, .src1 = factor, .src2 = maskVector(i.mask)});
      push({.op = VOp::kFma, .dst = i.dst, .src1 = vector, .src2 = masked});
    } else {
      const std::int8_t sum = take();
      push({.op = VOp::kMove, .dst = sum, .src1 = i.dst});
      push({.op = VOp::kFma, .dst = sum, .src1 = vector, .src2 = factor});
      blend(i.dst, sum, i.mask);
    }
  }

  // Both sources are permuted by the same index; the index bit worth L, moved to the sign, chooses.
  // The low half comes last: it lands in dst, which may be the index or the high source.
  void permute2(const VInstr& i) {
    const int indexBits = std::countr_zero(static_cast<unsigned>(in_.isa.lanes()));
    const std::int8_t hi = take(), choice = take();
    push({.op = VOp::kShiftLeft, .dst = choice, .src1 = i.src1, .imm = 31 - indexBits});
    push({.op = VOp::kPermute, .dst = hi, .src1 = i.src1, .src2 = i.src3});
    push({.op = VOp::kPermute, .dst = i.dst, .src1 = i.src1, .src2 = i.src2});
    push({.op = VOp::kBlendVector, .dst = i.dst, .src1 = i.dst, .src2 = hi, .src3 = choice});
  }

  // The power is two factors, of half the exponent and of the rest: either is a normal number, and the first product exact.
  void scale(const VInstr& i) {
    const std::int8_t half = take(), rest = take();
    const std::vector<std::int32_t> biases(static_cast<std::size_t>(in_.isa.lanes()), 2 * 127);
    push({.op = VOp::kToInt, .dst = rest, .src1 = i.src2});
    push({.op = VOp::kConst, .dst = half, .imm = constant(biases)});
    push({.op = VOp::kAddInt, .dst = rest, .src1 = rest, .src2 = half});
    push({.op = VOp::kShiftRight, .dst = half, .src1 = rest, .imm = 1});
    push({.op = VOp::kSubInt, .dst = rest, .src1 = rest, .src2 = half});
    for (const std::int8_t factor : {half, rest})
      push({.op = VOp::kShiftLeft, .dst = factor, .src1 = factor, .imm = 23});
    push({.op = VOp::kMul, .dst = half, .src1 = i.src1, .src2 = half});
    push({.op = VOp::kMul, .dst = i.dst, .src1 = half, .src2 = rest});
  }

  const VectorProgram& in_;
  const std::vector<VectorSet> live_;
  VectorProgram out_;
  std::size_t at_ = 0;
  std::vector<std::size_t> loops_;
  VectorSet kept_ = 0, taken_ = 0;
  VectorSet neutral_ = 0;  ///< their lanes outside the mask they were loaded under are -0
  std::array<int, kMasks> home_{-1, -1, -1, -1, -1, -1, -1, -1};
  std::array<std::int64_t, kMasks> range_{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  int missing_ = 0, shortAt_ = 0;
  std::string where_, problem_;
};

}  // namespace

bool isLegal(const VInstr& i, const HostIsa& isa) {
  switch (i.op) {
    case VOp::kLoadMaskVector:
    case VOp::kBlendVector:
    case VOp::kStoreWords:
    case VOp::kWidenHalf:
    case VOp::kWidenF16:
    case VOp::kLoadBytes:
    case VOp::kStoreBytes:
    case VOp::kWidenI8:
    case VOp::kNarrowI8:
    case VOp::kShuffleBytes: return isa.maskRegs == 0;
    case VOp::kNarrowF16: return isa.maskRegs == 0 || isa.bf16Dot;
    case VOp::kLoadWords: return isa.maskRegs == 0 || (isa.bf16Dot && i.imm == std::int64_t{isa.lanes()} << 8);
    case VOp::kStoreLanes: return isa.maskRegs == 0 && maskHi(i.imm) <= kBlockLanes;
    case VOp::kStoreHalf: return isa.maskedMemory;
    case VOp::kStoreLow:
    case VOp::kNarrowBf16:
    case VOp::kPermuteWords2:
    case VOp::kDot:
    case VOp::kDotLoad:
    case VOp::kDotBroadcast: return isa.bf16Dot;
    case VOp::kDotI8:
    case VOp::kDotI8Load: return isa.byteDot();
    case VOp::kLoadI8:
    case VOp::kStoreI8: return isa.maskedMemory;
    case VOp::kTileConfigure:
    case VOp::kTileRelease:
    case VOp::kTileZero:
    case VOp::kTileLoad:
    case VOp::kTileStore: return isa.matrixUnit() != nullptr;
    case VOp::kTileDotBf16: return isa.matrixProduct(DType::kBf16) != nullptr;
    case VOp::kTileDotF16: return isa.matrixProduct(DType::kF16) != nullptr;
    case VOp::kMaskRange: return isa.maskRegs > 0;
    case VOp::kFmaBroadcast: return isa.embeddedBroadcast && (i.mask < 0 || isa.maskedMemory);
    case VOp::kPermute2: return isa.permuteTwo;
    case VOp::kScale: return isa.scales();
    default: return i.mask < 0 || isa.maskedMemory;
  }
}

int scratchRegisters(const VInstr& i, const HostIsa& isa) {
  if (isLegal(i, isa)) return 0;
  const int mask = i.mask > 0 ? 1 : 0;
  switch (i.op) {
    case VOp::kStore: return isa.lanes() > kBlockLanes ? 1 : 0;
    case VOp::kMove: return mask;
    case VOp::kFma: return 1 + mask;
    case VOp::kFmaBroadcast: return i.mask > 0 && !isa.maskedMemory ? 2 + mask : 1;
    case VOp::kPermute2:
    case VOp::kScale:
    case VOp::kStoreHalf: return 2;
    case VOp::kStoreF16:
    case VOp::kStoreI8: return 1;
    default: return 0;
  }
}

Status checkLegal(const VectorProgram& program) {
  CUBEJIT_RETURN_IF_ERROR(verify(program));
  std::string rules;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    if (!isLegal(program.code[i], program.isa))
      rules += "\ninstruction " + std::to_string(i) + " `" + print(program.code[i]) + "` must be legalised first";
  }
  if (rules.empty()) return Unit{};
  return Error{ErrorCode::kInternal, Stage::kEmit,
               program.name + " uses ops that " + toString(program.isa.level) + " lacks" + rules};
}

Result<VectorProgram> legalize(const VectorProgram& program) {
  CUBEJIT_RETURN_IF_ERROR(verify(program));
  if (std::all_of(program.code.begin(), program.code.end(), [&](const VInstr& i) { return isLegal(i, program.isa); }))
    return program;
  return Rewriter(program).run();
}

}  // namespace cubejit
