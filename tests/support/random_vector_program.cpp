// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header. s0 = a, s1 = c, s2 = list, s3 .. s6 values, s7 .. s9 loop counters.
#include "tests/support/random_vector_program.h"

#include <algorithm>
#include <utility>

#include "codegen/vector/legalize.h"
#include "codegen/vector/op_table.h"
#include "codegen/vector/tile_config.h"
#include "cubejit/kernel_args.h"

namespace cubejit {
namespace {

constexpr int kOne = 3;  // the constant behind the random ones
enum Scalar : std::int8_t { kA, kC, kListArgument, kValues, kLoops = 7, kPitch = 11 };

class VectorGenerator {
 public:
  VectorGenerator(std::mt19937& rng, const HostIsa& isa, const RandomShape& shape) : rng_(rng), shape_(shape) {
    p_.name = "random";
    p_.isa = isa;
  }

  VectorProgram run() {
    for (int c = 0; c < 3; ++c) {
      auto& words = p_.constants.emplace_back();
      for (int l = 0; l < p_.isa.lanes(); ++l) words.push_back(below(1000));
    }
    p_.constants.emplace_back(static_cast<std::size_t>(p_.isa.lanes()), 0x3f800000);  // 1.0f
    push({.op = VOp::kArg, .dst = kA, .imm = 0});
    push({.op = VOp::kArg, .dst = kC, .imm = 2});
    push({.op = VOp::kArg, .dst = kListArgument, .imm = 3});
    for (std::int8_t s = kValues; s < kLoops; ++s) push({.op = VOp::kSet, .dst = s, .imm = below(7) - 2});
    for (std::int8_t k = 1; shape_.masks && k <= 7; ++k) setMask(k);
    for (int v = 0; v < shape_.vectors; ++v) push({.op = VOp::kLoad, .dst = i8(v), .mem = vectorAt(kA)});
    if (tiles()) configureTiles();
    body(shape_.instructions, 0);
    push({.op = VOp::kStreamFence});
    if (tiles()) releaseTiles();
    for (int v = 0; v < shape_.vectors; ++v) push({.op = VOp::kStore, .src1 = i8(v), .mem = {kC, v * 64}});
    return std::move(p_);
  }

 private:
  static std::int8_t i8(int v) { return static_cast<std::int8_t>(v); }
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  std::int8_t vec() { return i8(below(shape_.vectors)); }
  std::int8_t value() { return i8(kValues + below(kLoops - kValues)); }
  // A mask, or none. A range set inside a loop is used only right behind it, as a legaliser without opmasks needs.
  std::int8_t mask() { return shape_.masks && below(2) == 0 ? i8(1 + below(6)) : i8(-1); }
  void push(VInstr i) { p_.code.push_back(i); }
  Mem vectorAt(std::int8_t base) { return {base, 4 * below(static_cast<int>(kRandomArenaBytes) / 4 - 16)}; }
  Mem wordAt(std::int8_t base) { return {base, 4 * below(static_cast<int>(kRandomArenaBytes) / 4)}; }
  Mem scalarAt() { return {kListArgument, 8 * below(static_cast<int>(kRandomArenaBytes) / 8)}; }
  void setMask(std::int8_t k) {
    const int hi = 1 + below(p_.isa.lanes());
    push({.op = VOp::kMaskRange, .dst = k, .imm = below(hi) | static_cast<std::int64_t>(hi) << 8});
  }

  bool tiles() const { return p_.isa.matrixUnit() != nullptr; }

  // t0 .. t3 are sums, t4 and t5 their rows, t6 and t7 their columns: as the kernels of a block of two by two have them, but of any size.
  void configureTiles() {
    const auto extent = [&] { return below(3) == 0 ? 16 : 1 + below(16); };
    const int rows[] = {extent(), extent()}, columns[] = {extent(), extent()}, pairs = extent();
    TileConfig config;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) config[2 * i + j] = {rows[i], 4 * columns[j]};
      config[4 + i] = {rows[i], 4 * pairs};
      config[6 + i] = {pairs, 4 * columns[i]};
    }
    push({.op = VOp::kTileConfigure, .imm = static_cast<std::int64_t>(p_.constants.size())});
    p_.constants.push_back(wordsOf(config));
    push({.op = VOp::kSet, .dst = kPitch, .imm = 4 * below(64)});
    for (int t = 0; t < 4; ++t) push({.op = VOp::kTileZero, .dst = i8(t)});
    for (int t = 4; t < 8; ++t) push({.op = VOp::kTileLoad, .dst = i8(t), .src1 = kPitch, .mem = rowsAt(kA)});
  }

  void releaseTiles() {
    for (int t = 0; t < 4; ++t) push({.op = VOp::kTileStore, .src1 = i8(t), .src2 = kPitch, .mem = rowsAt(kC)});
    push({.op = VOp::kTileRelease});
  }

  // Rows that begin at most 252 bytes apart.
  Mem rowsAt(std::int8_t base) { return {base, 4 * below((static_cast<int>(kRandomArenaBytes) - 15 * 252 - 64) / 4)}; }

  void tileInstruction(VOp op) {
    if (!tiles()) return;
    const int i = below(2), j = below(2);
    const std::int8_t sums = i8(2 * i + j);
    switch (op) {
      case VOp::kTileZero: return push({.op = op, .dst = sums});
      case VOp::kTileStore: return push({.op = op, .src1 = sums, .src2 = kPitch, .mem = rowsAt(kC)});
      case VOp::kTileLoad: return push({.op = op, .dst = i8(below(8)), .src1 = kPitch, .mem = rowsAt(kA)});
      case VOp::kTileDotF16:
        if (p_.isa.matrixUnit()->product(DType::kF16) == nullptr) op = VOp::kTileDotBf16;
        [[fallthrough]];
      default: push({.op = op, .dst = sums, .src1 = i8(4 + i), .src2 = i8(6 + j)});
    }
  }

  void body(int count, int depth) {
    while (count > 0) {
      if (depth < 3 && below(10) == 0) {
        const int inner = 1 + below(count);
        const std::int8_t counter = i8(kLoops + depth);
        push({.op = VOp::kSet, .dst = counter, .imm = below(5) - 1});
        push({.op = VOp::kLoop, .dst = counter});
        body(inner, depth + 1);
        push({.op = VOp::kEndLoop});
        count -= inner;
      } else {
        instruction();
        --count;
      }
    }
  }

  void instruction() {
    const VOp op = static_cast<VOp>(below(static_cast<int>(VOp::kShuffleBlocks) + 1));
    switch (op) {
      case VOp::kArg: push({.op = op, .dst = value(), .imm = 4 + below(5)}); break;
      case VOp::kSet: push({.op = op, .dst = value(), .imm = static_cast<std::int64_t>(rng_()) << below(33)}); break;
      case VOp::kCopy: push({.op = op, .dst = value(), .src1 = value()}); break;
      case VOp::kAddImm: {
        const std::int64_t imm =
            (static_cast<std::int64_t>(rng_()) - (std::int64_t{1} << 31)) >> below(32) << (below(8) == 0 ? 20 : 0);
        push({.op = op, .dst = value(), .src1 = value(), .imm = imm});
        break;
      }
      case VOp::kAdd: push({.op = op, .dst = value(), .src1 = value(), .src2 = value()}); break;
      case VOp::kLoadScalar: push({.op = op, .dst = value(), .mem = scalarAt()}); break;
      case VOp::kAddLoad: push({.op = op, .dst = value(), .src1 = value(), .mem = scalarAt()}); break;
      case VOp::kLoop:
      case VOp::kEndLoop: scalarStore(); break;
      case VOp::kZero: push({.op = op, .dst = vec()}); break;
      case VOp::kConst: push({.op = op, .dst = vec(), .imm = below(3)}); break;
      case VOp::kLoad: {
        const VInstr load{.op = op, .dst = vec(), .mask = mask(), .mem = vectorAt(below(2) == 0 ? kA : kC)};
        push(load);
        if (load.mask > 0 && below(2) == 0) maskedSums(load);
        break;
      }
      case VOp::kStore: push({.op = op, .src1 = vec(), .mask = mask(), .mem = vectorAt(kC)}); break;
      case VOp::kStoreStream:
        push({.op = op, .src1 = vec(), .mem = {kC, 64 * below(static_cast<int>(kRandomArenaBytes) / 64)}});
        break;
      case VOp::kStreamFence: push({.op = op}); break;
      case VOp::kBroadcast: push({.op = op, .dst = vec(), .mem = wordAt(kA)}); break;
      case VOp::kPrefetch: push({.op = op, .mem = wordAt(kA), .imm = 1 + below(2)}); break;
      case VOp::kMaskRange:
        if (!shape_.masks) break;
        setMask(7);
        push({.op = VOp::kFma, .dst = vec(), .src1 = vec(), .src2 = vec(), .mask = 7});
        break;
      case VOp::kMove: push({.op = op, .dst = vec(), .src1 = vec(), .mask = mask()}); break;
      case VOp::kFma: push({.op = op, .dst = vec(), .src1 = vec(), .src2 = vec(), .mask = mask()}); break;
      case VOp::kFmaLoad: push({.op = op, .dst = vec(), .src1 = vec(), .mem = vectorAt(kA)}); break;
      case VOp::kFmaBroadcast: push({.op = op, .dst = vec(), .src1 = vec(), .mask = mask(), .mem = wordAt(kA)}); break;
      case VOp::kPermute2:
      case VOp::kPermuteWords2: {
        if (op == VOp::kPermuteWords2 && !p_.isa.bf16Dot) break;
        VInstr i{.op = op, .dst = vec(), .src1 = vec(), .src2 = vec(), .src3 = vec()};
        if (i.dst == i.src3) i.src1 = i.dst;
        push(i);
        if (op == VOp::kPermuteWords2) makeSmall(i.dst);
        break;
      }
      case VOp::kShuffleBlocks:
        if (p_.isa.lanes() == 4) break;  // one block only
        push({.op = op, .dst = vec(), .src1 = vec(), .src2 = vec(), .imm = below(p_.isa.lanes() == 16 ? 256 : 4)});
        break;
      case VOp::kLoadHalf:
      case VOp::kLoadF16:
        push({.op = op, .dst = vec(), .mask = mask(), .mem = vectorAt(below(2) == 0 ? kA : kC)});
        break;
      case VOp::kStoreHalf:
      case VOp::kStoreF16: push({.op = op, .src1 = vec(), .mask = mask(), .mem = vectorAt(kC)}); break;
      case VOp::kStoreLow:
        if (p_.isa.bf16Dot) push({.op = op, .src1 = vec(), .mask = mask(), .mem = vectorAt(kC)});
        break;
      case VOp::kNarrowBf16:
        if (p_.isa.bf16Dot) {  // words, as the integer ops' results
          const std::int8_t dst = vec();
          push({.op = op, .dst = dst, .src1 = vec()});
          if (below(2) == 0) push({.op = VOp::kStoreLow, .src1 = dst, .mem = vectorAt(kC)});
          makeSmall(dst);
        }
        break;
      case VOp::kDot:
      case VOp::kDotLoad:
      case VOp::kDotBroadcast:
        if (!p_.isa.bf16Dot) break;
        if (op == VOp::kDot)
          push({.op = op, .dst = vec(), .src1 = vec(), .src2 = vec(), .mask = mask()});
        else if (op == VOp::kDotLoad)
          push({.op = op, .dst = vec(), .src1 = vec(), .mem = vectorAt(kA)});
        else
          push({.op = op, .dst = vec(), .src1 = vec(), .mask = mask(), .mem = wordAt(kA)});
        break;
      case VOp::kLoadI8: {
        const std::int8_t dst = vec();
        push({.op = op, .dst = dst, .mask = mask(), .mem = vectorAt(below(2) == 0 ? kA : kC)});
        if (below(2) == 0)
          push({.op = VOp::kToFloat, .dst = dst, .src1 = dst});
        else
          makeSmall(dst);
        break;
      }
      case VOp::kStoreI8: {  // of numbers from 0 up: words of such bytes are no NaNs
        const std::int8_t src = vec();
        makeSmall(src);
        push({.op = op, .src1 = src, .mask = mask(), .mem = vectorAt(kC)});
        break;
      }
      case VOp::kToInt: {
        const std::int8_t dst = vec();
        push({.op = op, .dst = dst, .src1 = vec()});
        makeSmall(dst);
        break;
      }
      case VOp::kToFloat: push({.op = op, .dst = vec(), .src1 = vec()}); break;
      case VOp::kDotI8:
      case VOp::kDotI8Load: {
        if (!p_.isa.byteDot()) break;
        const std::int8_t dst = vec();
        if (op == VOp::kDotI8)
          push({.op = op, .dst = dst, .src1 = vec(), .src2 = vec()});
        else
          push({.op = op, .dst = dst, .src1 = vec(), .mem = vectorAt(kA)});
        makeSmall(dst);
        break;
      }
      case VOp::kTileConfigure:
      case VOp::kTileRelease: break;  // outside loops alone: the program's first and last
      case VOp::kTileZero:
      case VOp::kTileLoad:
      case VOp::kTileStore:
      case VOp::kTileDotBf16:
      case VOp::kTileDotF16: tileInstruction(op); break;
      case VOp::kShiftRight: push({.op = op, .dst = vec(), .src1 = vec(), .imm = below(32)}); break;
      case VOp::kSqrt: {
        const std::int8_t dst = vec();
        push({.op = VOp::kZero, .dst = dst});
        atLeast(dst);
        push({.op = op, .dst = dst, .src1 = dst});
        break;
      }
      case VOp::kDiv: {
        const std::int8_t dst = vec();
        push({.op = VOp::kConst, .dst = dst, .imm = kOne});
        atLeast(dst);
        push({.op = op, .dst = dst, .src1 = vec(), .src2 = dst});
        break;
      }
      case VOp::kScale: {  // by 2^0 to 2^63
        const std::int8_t dst = vec();
        push({.op = VOp::kShiftRight, .dst = dst, .src1 = vec(), .imm = 26});
        push({.op = VOp::kToFloat, .dst = dst, .src1 = dst});
        push({.op = op, .dst = dst, .src1 = vec(), .src2 = dst});
        break;
      }
      case VOp::kRound: push({.op = op, .dst = vec(), .src1 = vec(), .imm = below(2)}); break;
      case VOp::kCompare: {  // all bits are a NaN
        const std::int8_t dst = vec();
        push({.op = op, .dst = dst, .src1 = vec(), .src2 = vec(), .imm = below(3)});
        makeSmall(dst);
        break;
      }
      case VOp::kShiftLeft:
      case VOp::kAnd:
      case VOp::kOr:
      case VOp::kXor:
      case VOp::kAddInt:
      case VOp::kSubInt:
      case VOp::kMinInt:
      case VOp::kMaxInt: integers(op); break;
      default: push({.op = op, .dst = vec(), .src1 = vec(), .src2 = vec()}); break;
    }
  }

  // What most masked loads are for: sums under the load's mask, and now and then another one; then another value, or not.
  void maskedSums(const VInstr& load) {
    for (int sums = 1 + below(3); sums > 0; --sums) {
      VInstr sum{.op = VOp::kFma, .dst = vec(), .src1 = load.dst, .src2 = vec(), .mask = load.mask};
      if (below(8) == 0) sum.mask = mask();
      if (below(2) == 0) std::swap(sum.src1, sum.src2);
      if (below(2) == 0)
        sum = {.op = VOp::kFmaBroadcast, .dst = vec(), .src1 = load.dst, .mask = sum.mask, .mem = wordAt(kA)};
      push(sum);
    }
    if (below(4) > 0) push({.op = VOp::kLoad, .dst = load.dst, .mem = load.mem});
  }

  // 0 / 0 and the root of a negative number would be NaNs, whose sign a compiler chooses: dst is made the greater of a vector and dst.
  void atLeast(std::int8_t dst) { push({.op = VOp::kMaxF, .dst = dst, .src1 = vec(), .src2 = dst}); }

  // What integer arithmetic leaves may be a NaN, as f32 or as a pair of bf16, whose payload float arithmetic may choose.
  void makeSmall(std::int8_t v) { push({.op = VOp::kShiftRight, .dst = v, .src1 = v, .imm = 18 + below(8)}); }

  void integers(VOp op) {
    const std::int8_t dst = vec();
    VInstr i{.op = op, .dst = dst, .src1 = vec()};
    if (op == VOp::kShiftLeft)
      i.imm = below(32);
    else
      i.src2 = vec();
    push(i);
    makeSmall(dst);
  }

  // Scalars reach memory as the base of a store: the low bits of a value pick the place.
  void scalarStore() {
    const std::int8_t s = value(), base = 10;
    push({.op = VOp::kSet, .dst = base, .imm = 0});
    push({.op = VOp::kSet, .dst = s, .imm = below(16)});
    push({.op = VOp::kLoop, .dst = s});
    push({.op = VOp::kAddImm, .dst = base, .src1 = base, .imm = 64});
    push({.op = VOp::kEndLoop});
    push({.op = VOp::kAdd, .dst = base, .src1 = base, .src2 = kC});
    push({.op = VOp::kStore, .src1 = vec(), .mem = {base, 128}});
  }

  std::mt19937& rng_;
  const RandomShape shape_;
  VectorProgram p_;
};

}  // namespace

int mostRandomVectors(const HostIsa& isa) {
  int scratch = 0;
  for (std::size_t op = 0; op < kOpCount; ++op) {
    for (const std::int8_t mask : {-1, 1})
      scratch = std::max(scratch, scratchRegisters({.op = static_cast<VOp>(op), .mask = mask}, isa));
  }
  return isa.vectorRegs - scratch;
}

VectorProgram randomVectorProgram(std::mt19937& rng, const HostIsa& isa, const RandomShape& shape) {
  return VectorGenerator(rng, isa, shape).run();
}

}  // namespace cubejit
