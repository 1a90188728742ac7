// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond ops.def: one case an op, one lane at a time, so that it can be checked by eye.
#include "codegen/vector/interpret.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/tile/element.h"
#include "codegen/vector/op_table.h"
#include "codegen/vector/print.h"
#include "codegen/vector/verify.h"

namespace cubejit {
namespace {

using Half = std::uint16_t;
using Word = std::uint32_t;
using Vector = std::array<Word, 16>;  // only the first `lanes` count

float real(Word w) { return std::bit_cast<float>(w); }
Word word(float f) { return std::bit_cast<Word>(f); }
bool sign(Word w) { return (w >> 31) != 0; }

class Cpu {
 public:
  Cpu(const VectorProgram& program, const KernelArgs& args)
      : p_(program), args_(args), lanes_(static_cast<std::size_t>(program.isa.lanes())) {}

  Status run() {
    for (pc_ = 0; pc_ < p_.code.size(); ++pc_) {
      const VInstr& i = p_.code[pc_];
      if (i.op == VOp::kStoreStream && reinterpret_cast<std::uintptr_t>(address(i.mem)) % (lanes_ * 4) != 0) {
        return Error{ErrorCode::kInternal, Stage::kRun,
                     p_.name + ": `" + print(i) + "` to an address that is not vector aligned"};
      }
      if (rowOf(i.op).dst == OperandKind::S || i.op == VOp::kEndLoop)
        scalar(i);
      else if (rowOf(i.op).mem != MemUse::N)
        memory(i);
      else
        vector(i);
    }
    return Unit{};
  }

 private:
  std::int64_t& s(int r) { return scalars_[static_cast<std::size_t>(r)]; }
  Vector& v(int r) { return vectors_[static_cast<std::size_t>(r)]; }
  bool active(int mask, std::size_t lane) const {
    return mask < 0 || (masks_[static_cast<std::size_t>(mask)] >> lane & 1) != 0;
  }

  char* address(const Mem& mem) {
    return reinterpret_cast<char*>(static_cast<std::uintptr_t>(s(mem.base)) +
                                   static_cast<std::uintptr_t>(static_cast<std::int64_t>(mem.disp)));
  }
  template <class T>
  T readAt(const Mem& mem, std::size_t index = 0) {
    T value;
    std::memcpy(&value, address(mem) + index * sizeof(T), sizeof(T));
    return value;
  }
  void writeAt(const Mem& mem, std::size_t lane, Word value) { std::memcpy(address(mem) + lane * 4, &value, 4); }
  void writeHalf(const Mem& mem, std::size_t lane, Half value) { std::memcpy(address(mem) + lane * 2, &value, 2); }

  // Address arithmetic wraps like the hardware's.
  static std::int64_t sum(std::int64_t x, std::int64_t y) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
  }

  void skipLoop() {
    for (int depth = 1; depth > 0;) {
      ++pc_;
      if (p_.code[pc_].op == VOp::kLoop) ++depth;
      if (p_.code[pc_].op == VOp::kEndLoop) --depth;
    }
  }

  void scalar(const VInstr& i) {
    switch (i.op) {
      case VOp::kArg: std::memcpy(&s(i.dst), reinterpret_cast<const char*>(&args_) + i.imm * 8, 8); break;
      case VOp::kSet: s(i.dst) = i.imm; break;
      case VOp::kCopy: s(i.dst) = s(i.src1); break;
      case VOp::kAddImm: s(i.dst) = sum(s(i.src1), i.imm); break;
      case VOp::kAdd: s(i.dst) = sum(s(i.src1), s(i.src2)); break;
      case VOp::kLoadScalar: s(i.dst) = readAt<std::int64_t>(i.mem); break;
      case VOp::kAddLoad: s(i.dst) = sum(s(i.src1), readAt<std::int64_t>(i.mem)); break;
      case VOp::kLoop:
        if (s(i.dst) <= 0)
          skipLoop();
        else
          loops_.push_back(pc_);
        break;
      case VOp::kEndLoop:
        if (--s(p_.code[loops_.back()].dst) > 0)
          pc_ = loops_.back();
        else
          loops_.pop_back();
        break;
      default: break;  // not scalar
    }
  }

  void memory(const VInstr& i) {
    if (i.op == VOp::kPrefetch) return;
    if (i.op == VOp::kLoadWords || i.op == VOp::kStoreWords) return words(i);
    const Word broadcast =
        i.op == VOp::kBroadcast || i.op == VOp::kFmaBroadcast || i.op == VOp::kDotBroadcast ? readAt<Word>(i.mem) : 0;
    const Vector mask = i.op == VOp::kLoadMaskVector ? v(i.src1) : i.op == VOp::kStoreMaskVector ? v(i.src2) : Vector{};
    for (std::size_t l = 0; l < lanes_; ++l) {
      switch (i.op) {
        case VOp::kLoad: v(i.dst)[l] = active(i.mask, l) ? readAt<Word>(i.mem, l) : 0; break;
        case VOp::kStore:
          if (active(i.mask, l)) writeAt(i.mem, l, v(i.src1)[l]);
          break;
        case VOp::kStoreStream: writeAt(i.mem, l, v(i.src1)[l]); break;
        case VOp::kBroadcast: v(i.dst)[l] = broadcast; break;
        case VOp::kFmaLoad: fma(i.dst, l, v(i.src1)[l], readAt<Word>(i.mem, l)); break;
        case VOp::kFmaBroadcast:
          if (active(i.mask, l)) fma(i.dst, l, v(i.src1)[l], broadcast);
          break;
        case VOp::kLoadHalf: v(i.dst)[l] = active(i.mask, l) ? readAt<Half>(i.mem, l) : 0; break;
        case VOp::kLoadF16: v(i.dst)[l] = active(i.mask, l) ? word(f16ToFloat(readAt<Half>(i.mem, l))) : 0; break;
        case VOp::kStoreHalf:
          if (active(i.mask, l)) writeHalf(i.mem, l, static_cast<Half>(v(i.src1)[l]));
          break;
        case VOp::kStoreLow:
          if (active(i.mask, l)) writeHalf(i.mem, l, lowWord(v(i.src1), l));
          break;
        case VOp::kStoreF16:
          if (active(i.mask, l)) writeHalf(i.mem, l, floatToF16(real(v(i.src1)[l])));
          break;
        case VOp::kDotLoad: dot(i.dst, l, v(i.src1)[l], readAt<Word>(i.mem, l)); break;
        case VOp::kDotBroadcast:
          if (active(i.mask, l)) dot(i.dst, l, v(i.src1)[l], broadcast);
          break;
        case VOp::kLoadMaskVector: v(i.dst)[l] = sign(mask[l]) ? readAt<Word>(i.mem, l) : 0; break;
        case VOp::kStoreMaskVector:
          if (sign(mask[l])) writeAt(i.mem, l, v(i.src1)[l]);
          break;
        default: break;  // not a vector memory op
      }
    }
  }

  // The lower half of a register as words.
  static Half lowWord(const Vector& x, std::size_t index) {
    return static_cast<Half>(x[index / 2] >> (16 * (index % 2)));
  }
  Vector packed(const std::array<Half, 16>& words) const {
    Vector x{};
    for (std::size_t i = 0; i < lanes_; ++i) x[i / 2] |= Word{words[i]} << (16 * (i % 2));
    return x;
  }

  void words(const VInstr& i) {
    std::array<Half, 16> loaded{};
    for (auto l = static_cast<std::size_t>(maskLo(i.imm)); l < static_cast<std::size_t>(maskHi(i.imm)); ++l) {
      if (i.op == VOp::kLoadWords)
        loaded[l] = readAt<Half>(i.mem, l);
      else
        writeHalf(i.mem, l, lowWord(v(i.src1), l));
    }
    if (i.op == VOp::kLoadWords) v(i.dst) = packed(loaded);
  }

  void dot(int dst, std::size_t lane, Word x, Word y) { v(dst)[lane] = word(dotPairs(real(v(dst)[lane]), x, y)); }

  void fma(int dst, std::size_t lane, Word x, Word y) {
    v(dst)[lane] = word(std::fma(real(x), real(y), real(v(dst)[lane])));
  }

  // Sources are copied first: dst may be one of them.
  void vector(const VInstr& i) {
    if (i.op == VOp::kMaskRange) {
      masks_[static_cast<std::size_t>(i.dst)] = ((Word{1} << maskHi(i.imm)) - 1) & ~((Word{1} << maskLo(i.imm)) - 1);
      return;
    }
    const Vector none{};
    const Vector x = i.src1 >= 0 ? v(i.src1) : none, y = i.src2 >= 0 ? v(i.src2) : none,
                 z = i.src3 >= 0 ? v(i.src3) : none;
    const std::size_t half = lanes_ / 2;
    for (std::size_t l = 0; l < lanes_; ++l) {
      const std::size_t block = l & ~std::size_t{3}, e = l & 3;
      Word& d = v(i.dst)[l];
      switch (i.op) {
        case VOp::kZero: d = 0; break;
        case VOp::kConst: d = static_cast<Word>(p_.constants[static_cast<std::size_t>(i.imm)][l]); break;
        case VOp::kMove:
          if (active(i.mask, l)) d = x[l];
          break;
        case VOp::kFma:
          if (active(i.mask, l)) fma(i.dst, l, x[l], y[l]);
          break;
        case VOp::kDot:
          if (active(i.mask, l)) dot(i.dst, l, x[l], y[l]);
          break;
        case VOp::kAnd: d = x[l] & y[l]; break;
        case VOp::kOr: d = x[l] | y[l]; break;
        case VOp::kAddInt: d = x[l] + y[l]; break;
        case VOp::kMinInt: d = std::min(x[l], y[l]); break;
        case VOp::kMaxInt: d = std::max(x[l], y[l]); break;
        case VOp::kWidenHalf: d = lowWord(x, l); break;
        case VOp::kWidenF16: d = word(f16ToFloat(lowWord(x, l))); break;
        case VOp::kNarrowBf16: {
          const auto half = [&](std::size_t lane) { return Word{roundFlushed(x[lane])}; };
          d = l < lanes_ / 2 ? half(2 * l) | half(2 * l + 1) << 16 : 0;
          break;
        }
        case VOp::kNarrowF16: {
          const auto half = [&](std::size_t lane) { return Word{floatToF16(real(x[lane]))}; };
          d = l < lanes_ / 2 ? half(2 * l) | half(2 * l + 1) << 16 : 0;
          break;
        }
        case VOp::kShuffleBytes: {
          d = 0;
          for (std::size_t byte = 0; byte < 4; ++byte) {
            const Word pick = x[l] >> (8 * byte) & 0xff, from = pick & 15;
            if (pick < 128) d |= (y[block + from / 4] >> (8 * (from % 4)) & 0xff) << (8 * byte);
          }
          break;
        }
        case VOp::kAddF: d = word(real(x[l]) + real(y[l])); break;
        case VOp::kMul: d = word(real(x[l]) * real(y[l])); break;
        case VOp::kPermute: d = y[x[l] % lanes_]; break;
        case VOp::kPermute2: {
          const std::size_t from = x[l] % (2 * lanes_);
          d = from < lanes_ ? y[from] : z[from - lanes_];
          break;
        }
        case VOp::kPermuteWords2: {
          const auto wordAt = [&](Word pick) {
            const std::size_t from = pick % (4 * lanes_), lane = from / 2 % lanes_;
            return (from < 2 * lanes_ ? y[lane] : z[lane]) >> (16 * (from % 2)) & 0xffff;
          };
          d = wordAt(x[l] & 0xffff) | wordAt(x[l] >> 16) << 16;
          break;
        }
        case VOp::kUnpackLo: d = (e % 2 == 0 ? x : y)[block + e / 2]; break;
        case VOp::kUnpackHi: d = (e % 2 == 0 ? x : y)[block + 2 + e / 2]; break;
        case VOp::kUnpackLo64: d = (e < 2 ? x : y)[block + e % 2]; break;
        case VOp::kUnpackHi64: d = (e < 2 ? x : y)[block + 2 + e % 2]; break;
        case VOp::kShuffleBlocks: {
          const int bits = lanes_ == 16 ? 2 : 1;
          const auto pick = static_cast<std::size_t>(i.imm >> (static_cast<int>(l / 4) * bits) & ((1 << bits) - 1));
          d = (l < half ? x : y)[pick * 4 + e];
          break;
        }
        case VOp::kBlendVector: d = sign(z[l]) ? y[l] : x[l]; break;
        case VOp::kShiftLeft: d = x[l] << i.imm; break;
        case VOp::kShiftRight: d = x[l] >> i.imm; break;
        default: break;  // not a register-only op
      }
    }
  }

  const VectorProgram& p_;
  const KernelArgs& args_;
  const std::size_t lanes_;
  std::size_t pc_ = 0;
  std::vector<std::size_t> loops_;  // indices of the running kLoops
  std::array<std::int64_t, kScalarRegs> scalars_{};
  std::array<Vector, 32> vectors_{};
  std::array<Word, 8> masks_{};
};

}  // namespace

Status interpret(const VectorProgram& program, const KernelArgs& args) {
  CUBEJIT_TRY(checked, verify(program));
  static_cast<void>(checked);
  return Cpu(program, args).run();
}

}  // namespace cubejit
