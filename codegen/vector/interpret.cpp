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
#include "codegen/vector/tile_state.h"
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
      step(i);
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

  // Exhaustive: a new op without a meaning does not compile. Sources are copied first: dst may be one of them.
  void step(const VInstr& i) {
    const OpRow& row = rowOf(i.op);
    const Vector x = source(row.src1, i.src1), y = source(row.src2, i.src2), z = source(row.src3, i.src3);
    // Lane by lane: all of dst, or what the mask leaves; and what is read and written in memory.
    const auto each = [&](const auto& value) {
      for (std::size_t l = 0; l < lanes_; ++l) v(i.dst)[l] = value(l);
    };
    const auto masked = [&](const auto& value) {
      for (std::size_t l = 0; l < lanes_; ++l) {
        if (active(i.mask, l)) v(i.dst)[l] = value(l);
      }
    };
    const auto loaded = [&](const auto& value) {
      each([&](std::size_t l) { return active(i.mask, l) ? value(l) : 0; });
    };
    const auto stored = [&](const auto& write) {
      for (std::size_t l = 0; l < lanes_; ++l) {
        if (active(i.mask, l)) write(l);
      }
    };
    const auto old = [&](std::size_t l) { return v(i.dst)[l]; };
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

      case VOp::kZero: each([](std::size_t) { return Word{0}; }); break;
      case VOp::kConst: {
        const std::vector<std::int32_t>& words = p_.constants[static_cast<std::size_t>(i.imm)];
        each([&](std::size_t l) { return static_cast<Word>(words[l]); });
        break;
      }
      case VOp::kLoad: loaded([&](std::size_t l) { return readAt<Word>(i.mem, l); }); break;
      case VOp::kStore:
      case VOp::kStoreStream: stored([&](std::size_t l) { writeAt(i.mem, l, x[l]); }); break;
      case VOp::kStreamFence:
      case VOp::kPrefetch: break;  // nothing that a single thread could see
      case VOp::kBroadcast: {
        const Word word = readAt<Word>(i.mem);
        each([&](std::size_t) { return word; });
        break;
      }
      case VOp::kMaskRange:
        masks_[static_cast<std::size_t>(i.dst)] = ((Word{1} << maskHi(i.imm)) - 1) & ~((Word{1} << maskLo(i.imm)) - 1);
        break;
      case VOp::kMove: masked([&](std::size_t l) { return x[l]; }); break;

      case VOp::kLoadHalf: loaded([&](std::size_t l) { return Word{readAt<Half>(i.mem, l)}; }); break;
      case VOp::kStoreHalf: stored([&](std::size_t l) { writeHalf(i.mem, l, static_cast<Half>(x[l])); }); break;
      case VOp::kLoadF16: loaded([&](std::size_t l) { return word(f16ToFloat(readAt<Half>(i.mem, l))); }); break;
      case VOp::kStoreF16: stored([&](std::size_t l) { writeHalf(i.mem, l, floatToF16(real(x[l]))); }); break;
      case VOp::kStoreLow: stored([&](std::size_t l) { writeHalf(i.mem, l, lowWord(x, l)); }); break;

      case VOp::kLoadI8: loaded([&](std::size_t l) { return static_cast<Word>(readAt<std::int8_t>(i.mem, l)); }); break;
      case VOp::kStoreI8:
        stored(
            [&](std::size_t l) { address(i.mem)[l] = static_cast<char>(saturated(static_cast<std::int32_t>(x[l]))); });
        break;

      case VOp::kFma: masked([&](std::size_t l) { return fma(x[l], y[l], old(l)); }); break;
      case VOp::kFmaLoad: each([&](std::size_t l) { return fma(x[l], readAt<Word>(i.mem, l), old(l)); }); break;
      case VOp::kFmaBroadcast: {
        const Word word = readAt<Word>(i.mem);
        masked([&](std::size_t l) { return fma(x[l], word, old(l)); });
        break;
      }
      case VOp::kAddF: each([&](std::size_t l) { return word(real(x[l]) + real(y[l])); }); break;
      case VOp::kMinF: each([&](std::size_t l) { return real(x[l]) < real(y[l]) ? x[l] : y[l]; }); break;
      case VOp::kMaxF: each([&](std::size_t l) { return real(x[l]) > real(y[l]) ? x[l] : y[l]; }); break;
      case VOp::kSubF: each([&](std::size_t l) { return word(real(x[l]) - real(y[l])); }); break;
      case VOp::kMul: each([&](std::size_t l) { return word(real(x[l]) * real(y[l])); }); break;
      case VOp::kDiv: each([&](std::size_t l) { return word(real(x[l]) / real(y[l])); }); break;
      case VOp::kSqrt: each([&](std::size_t l) { return word(std::sqrt(real(x[l]))); }); break;
      case VOp::kScale: each([&](std::size_t l) { return word(scaledBy(real(x[l]), real(y[l]))); }); break;
      case VOp::kRound: each([&](std::size_t l) { return word(rounded(real(x[l]), i.imm)); }); break;
      case VOp::kCompare:
        each([&](std::size_t l) { return holds(real(x[l]), real(y[l]), i.imm) ? ~Word{0} : 0; });
        break;
      case VOp::kDot: masked([&](std::size_t l) { return dot(x[l], y[l], old(l)); }); break;
      case VOp::kDotLoad: each([&](std::size_t l) { return dot(x[l], readAt<Word>(i.mem, l), old(l)); }); break;
      case VOp::kDotBroadcast: {
        const Word pair = readAt<Word>(i.mem);
        masked([&](std::size_t l) { return dot(x[l], pair, old(l)); });
        break;
      }
      case VOp::kDotI8: each([&](std::size_t l) { return dotBytes(old(l), x[l], y[l]); }); break;
      case VOp::kDotI8Load: each([&](std::size_t l) { return dotBytes(old(l), x[l], readAt<Word>(i.mem, l)); }); break;

      case VOp::kAnd: each([&](std::size_t l) { return x[l] & y[l]; }); break;
      case VOp::kOr: each([&](std::size_t l) { return x[l] | y[l]; }); break;
      case VOp::kXor: each([&](std::size_t l) { return x[l] ^ y[l]; }); break;
      case VOp::kAddInt: each([&](std::size_t l) { return x[l] + y[l]; }); break;
      case VOp::kSubInt: each([&](std::size_t l) { return x[l] - y[l]; }); break;
      case VOp::kMinInt: each([&](std::size_t l) { return std::min(x[l], y[l]); }); break;
      case VOp::kMaxInt: each([&](std::size_t l) { return std::max(x[l], y[l]); }); break;
      case VOp::kShiftLeft: each([&](std::size_t l) { return x[l] << i.imm; }); break;
      case VOp::kShiftRight: each([&](std::size_t l) { return x[l] >> i.imm; }); break;
      case VOp::kToInt: each([&](std::size_t l) { return static_cast<Word>(roundToInt(real(x[l]))); }); break;
      case VOp::kToFloat:
        each([&](std::size_t l) { return word(static_cast<float>(static_cast<std::int32_t>(x[l]))); });
        break;
      case VOp::kNarrowBf16: v(i.dst) = narrowed(x, [](Word w) { return roundFlushed(w); }); break;

      case VOp::kPermute: each([&](std::size_t l) { return y[x[l] % lanes_]; }); break;
      case VOp::kPermute2:
        each([&](std::size_t l) {
          const std::size_t from = x[l] % (2 * lanes_);
          return from < lanes_ ? y[from] : z[from - lanes_];
        });
        break;
      case VOp::kPermuteWords2: {
        const auto wordAt = [&](Word pick) {
          const std::size_t from = pick % (4 * lanes_), lane = from / 2 % lanes_;
          return (from < 2 * lanes_ ? y[lane] : z[lane]) >> (16 * (from % 2)) & 0xffff;
        };
        each([&](std::size_t l) { return wordAt(x[l] & 0xffff) | wordAt(x[l] >> 16) << 16; });
        break;
      }
      case VOp::kUnpackLo: each([&](std::size_t l) { return (l % 2 == 0 ? x : y)[block(l) + l % 4 / 2]; }); break;
      case VOp::kUnpackHi: each([&](std::size_t l) { return (l % 2 == 0 ? x : y)[block(l) + 2 + l % 4 / 2]; }); break;
      case VOp::kUnpackLo64: each([&](std::size_t l) { return (l % 4 < 2 ? x : y)[block(l) + l % 2]; }); break;
      case VOp::kUnpackHi64: each([&](std::size_t l) { return (l % 4 < 2 ? x : y)[block(l) + 2 + l % 2]; }); break;
      case VOp::kShuffleBlocks: {
        const int bits = lanes_ == 16 ? 2 : 1;
        each([&](std::size_t l) {
          const auto pick = static_cast<std::size_t>(i.imm >> (static_cast<int>(l / 4) * bits) & ((1 << bits) - 1));
          return (l < lanes_ / 2 ? x : y)[pick * 4 + l % 4];
        });
        break;
      }

      case VOp::kTileConfigure: tiles_.configure(tileConfigOf(p_.constants[static_cast<std::size_t>(i.imm)])); break;
      case VOp::kTileRelease: tiles_.release(); break;
      case VOp::kTileZero: tiles_.zero(i.dst); break;
      case VOp::kTileLoad: tiles_.load(i.dst, address(i.mem), s(i.src1)); break;
      case VOp::kTileStore: tiles_.store(i.src1, address(i.mem), s(i.src2)); break;
      case VOp::kTileDotBf16:
      case VOp::kTileDotF16: tiles_.dot(i.dst, i.src1, i.src2, i.op == VOp::kTileDotF16); break;

      case VOp::kLoadMaskVector: each([&](std::size_t l) { return sign(x[l]) ? readAt<Word>(i.mem, l) : 0; }); break;
      case VOp::kStoreLanes:
        for (std::size_t l = lo(i); l < hi(i); ++l) writeAt(i.mem, l, x[l]);
        break;
      case VOp::kBlendVector: each([&](std::size_t l) { return sign(z[l]) ? y[l] : x[l]; }); break;

      case VOp::kLoadWords: {
        std::array<Half, 16> words{};
        for (std::size_t l = lo(i); l < hi(i); ++l) words[l] = readAt<Half>(i.mem, l);
        v(i.dst) = packed(words);
        break;
      }
      case VOp::kStoreWords:
        for (std::size_t l = lo(i); l < hi(i); ++l) writeHalf(i.mem, l, lowWord(x, l));
        break;
      case VOp::kWidenHalf: each([&](std::size_t l) { return Word{lowWord(x, l)}; }); break;
      case VOp::kWidenF16: each([&](std::size_t l) { return word(f16ToFloat(lowWord(x, l))); }); break;
      case VOp::kNarrowF16: v(i.dst) = narrowed(x, [](Word w) { return floatToF16(real(w)); }); break;
      case VOp::kLoadBytes: {
        Vector bytes{};
        for (std::size_t l = lo(i); l < hi(i); ++l) setByte(bytes, l, readAt<std::uint8_t>(i.mem, l));
        v(i.dst) = bytes;
        break;
      }
      case VOp::kStoreBytes:
        for (std::size_t l = lo(i); l < hi(i); ++l) address(i.mem)[l] = static_cast<char>(byteAt(x, l));
        break;
      case VOp::kWidenI8:
        each([&](std::size_t l) { return static_cast<Word>(static_cast<std::int8_t>(byteAt(x, l))); });
        break;
      case VOp::kNarrowI8: {
        Vector bytes{};
        for (std::size_t l = 0; l < lanes_; ++l)
          setByte(bytes, l, static_cast<std::uint8_t>(saturated(static_cast<std::int32_t>(x[l]))));
        v(i.dst) = bytes;
        break;
      }
      case VOp::kShuffleBytes:
        each([&](std::size_t l) {
          Word picked = 0;
          for (std::size_t byte = 0; byte < 4; ++byte) {
            const Word pick = x[l] >> (8 * byte) & 0xff, from = pick & 15;
            if (pick < 128) picked |= (y[block(l) + from / 4] >> (8 * (from % 4)) & 0xff) << (8 * byte);
          }
          return picked;
        });
        break;
    }
  }

  Vector source(OperandKind kind, int reg) { return isVector(kind) ? v(reg) : Vector{}; }
  static float rounded(float x, std::int64_t how) { return how == 0 ? std::nearbyint(x) : std::floor(x); }
  static bool holds(float x, float y, std::int64_t relation) {
    return relation == 0 ? x == y : relation == 1 ? x < y : x <= y;
  }
  static Word fma(Word x, Word y, Word z) { return word(std::fma(real(x), real(y), real(z))); }
  static Word dot(Word x, Word y, Word z) { return word(dotPairs(real(z), x, y)); }
  // The first lane of a lane's 128-bit block.
  static std::size_t block(std::size_t lane) { return lane & ~std::size_t{3}; }
  static std::size_t lo(const VInstr& i) { return static_cast<std::size_t>(maskLo(i.imm)); }
  static std::size_t hi(const VInstr& i) { return static_cast<std::size_t>(maskHi(i.imm)); }

  // The lower half of a register as words.
  static Half lowWord(const Vector& x, std::size_t index) {
    return static_cast<Half>(x[index / 2] >> (16 * (index % 2)));
  }
  static std::uint8_t byteAt(const Vector& x, std::size_t index) {
    return static_cast<std::uint8_t>(x[index / 4] >> (8 * (index % 4)));
  }
  static void setByte(Vector& x, std::size_t index, std::uint8_t byte) {
    x[index / 4] |= Word{byte} << (8 * (index % 4));
  }
  Vector packed(const std::array<Half, 16>& words) const {
    Vector x{};
    for (std::size_t i = 0; i < lanes_; ++i) x[i / 2] |= Word{words[i]} << (16 * (i % 2));
    return x;
  }
  template <class Round>
  Vector narrowed(const Vector& x, const Round& round) const {
    std::array<Half, 16> words{};
    for (std::size_t i = 0; i < lanes_; ++i) words[i] = round(x[i]);
    return packed(words);
  }

  const VectorProgram& p_;
  const KernelArgs& args_;
  const std::size_t lanes_;
  std::size_t pc_ = 0;
  std::vector<std::size_t> loops_;  // indices of the running kLoops
  std::array<std::int64_t, kScalarRegs> scalars_{};
  std::array<Vector, 32> vectors_{};
  std::array<Word, 8> masks_{};
  TileState tiles_;
};

}  // namespace

Status interpret(const VectorProgram& program, const KernelArgs& args) {
  CUBEJIT_RETURN_IF_ERROR(verify(program));
  return Cpu(program, args).run();
}

}  // namespace cubejit
