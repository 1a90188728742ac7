// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing by itself: a short way to append ops to a VectorProgram, with opmasks for lane ranges.
// Leaves register assignment to the units.
#pragma once

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "codegen/tile/combine.h"
#include "codegen/tile/contract.h"
#include "codegen/vector/program.h"
#include "codegen/vector/tile_config.h"
#include "cubejit/kernel_args.h"

namespace cubejit {

class VectorAssembler {
 public:
  VectorAssembler(std::string name, const HostIsa& isa) {
    program_.name = std::move(name);
    program_.isa = isa;
  }

  void comment(std::string text) {
    program_.comments.emplace_back(static_cast<std::int32_t>(program_.code.size()), std::move(text));
  }

  void arg(int dst, ArgSlot slot) { push({.op = VOp::kArg, .dst = i8(dst), .imm = static_cast<std::int64_t>(slot)}); }
  void set(int dst, std::int64_t value) { push({.op = VOp::kSet, .dst = i8(dst), .imm = value}); }
  void copy(int dst, int src) { push({.op = VOp::kCopy, .dst = i8(dst), .src1 = i8(src)}); }
  void addImm(int dst, int src, std::int64_t value) {
    if (value != 0 || dst != src) push({.op = VOp::kAddImm, .dst = i8(dst), .src1 = i8(src), .imm = value});
  }
  void add(int dst, int src1, int src2) { push({.op = VOp::kAdd, .dst = i8(dst), .src1 = i8(src1), .src2 = i8(src2)}); }
  void loadScalar(int dst, int base, std::int64_t disp) {
    push({.op = VOp::kLoadScalar, .dst = i8(dst), .mem = mem(base, disp)});
  }
  void addLoad(int dst, int src, int base, std::int64_t disp) {
    push({.op = VOp::kAddLoad, .dst = i8(dst), .src1 = i8(src), .mem = mem(base, disp)});
  }
  void loop(int counter) { push({.op = VOp::kLoop, .dst = i8(counter)}); }
  void endLoop() { push({.op = VOp::kEndLoop}); }

  void zero(int dst) { push({.op = VOp::kZero, .dst = i8(dst)}); }
  void constant(int dst, int index) { push({.op = VOp::kConst, .dst = i8(dst), .imm = index}); }
  void load(int dst, int base, std::int64_t disp, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kLoad, .dst = i8(dst), .mask = i8(mask), .mem = mem(base, disp)});
  }
  void store(int src, int base, std::int64_t disp, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kStore, .src1 = i8(src), .mask = i8(mask), .mem = mem(base, disp)});
  }
  /// A whole vector's number of 16-bit words, as they are.
  void loadLower(int dst, int base, std::int64_t disp) {
    push({.op = VOp::kLoadWords,
          .dst = i8(dst),
          .mem = mem(base, disp),
          .imm = code({0, static_cast<std::int16_t>(program_.isa.lanes())})});
  }
  /// kLoadHalf, kLoadF16 or kLoadI8; the stores of the same.
  void loadNarrow(VOp op, int dst, int base, std::int64_t disp, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = op, .dst = i8(dst), .mask = i8(mask), .mem = mem(base, disp)});
  }
  void storeNarrow(VOp op, int src, int base, std::int64_t disp, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = op, .src1 = i8(src), .mask = i8(mask), .mem = mem(base, disp)});
  }
  /// An op of two source registers, or of one and an immediate.
  void binary(VOp op, int dst, int x, int y) { push({.op = op, .dst = i8(dst), .src1 = i8(x), .src2 = i8(y)}); }
  void shift(VOp op, int dst, int x, std::int64_t bits) {
    push({.op = op, .dst = i8(dst), .src1 = i8(x), .imm = bits});
  }
  void compare(int dst, int x, int y, std::int64_t relation) {
    push({.op = VOp::kCompare, .dst = i8(dst), .src1 = i8(x), .src2 = i8(y), .imm = relation});
  }
  void move(int dst, int x, LaneRange lanes) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kMove, .dst = i8(dst), .src1 = i8(x), .mask = i8(mask)});
  }
  void narrow(VOp op, int dst, int x) { push({.op = op, .dst = i8(dst), .src1 = i8(x)}); }
  void prefetch(int base, std::int64_t disp) { push({.op = VOp::kPrefetch, .mem = mem(base, disp), .imm = 1}); }
  void prefetchForWrite(int base, std::int64_t disp) { push({.op = VOp::kPrefetch, .mem = mem(base, disp), .imm = 3}); }
  void storeStream(int src, int base, std::int64_t disp) {
    push({.op = VOp::kStoreStream, .src1 = i8(src), .mem = mem(base, disp)});
    streams_ = true;
  }
  void broadcast(int dst, int base, std::int64_t disp) {
    push({.op = VOp::kBroadcast, .dst = i8(dst), .mem = mem(base, disp)});
  }
  void fma(int acc, int x, int y, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kFma, .dst = i8(acc), .src1 = i8(x), .src2 = i8(y), .mask = i8(mask)});
  }
  void fmaLoad(int acc, int x, int base, std::int64_t disp) {
    push({.op = VOp::kFmaLoad, .dst = i8(acc), .src1 = i8(x), .mem = mem(base, disp)});
  }
  void fmaBroadcast(int acc, int x, int base, std::int64_t disp, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kFmaBroadcast, .dst = i8(acc), .src1 = i8(x), .mask = i8(mask), .mem = mem(base, disp)});
  }
  void dot(int acc, int x, int y, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kDot, .dst = i8(acc), .src1 = i8(x), .src2 = i8(y), .mask = i8(mask)});
  }
  void dotLoad(int acc, int x, int base, std::int64_t disp) {
    push({.op = VOp::kDotLoad, .dst = i8(acc), .src1 = i8(x), .mem = mem(base, disp)});
  }
  void dotBroadcast(int acc, int x, int base, std::int64_t disp, LaneRange lanes = {}) {
    const int mask = maskOf(lanes);
    push({.op = VOp::kDotBroadcast, .dst = i8(acc), .src1 = i8(x), .mask = i8(mask), .mem = mem(base, disp)});
  }
  void dotBytes(int acc, int x, int y) { push({.op = VOp::kDotI8, .dst = i8(acc), .src1 = i8(x), .src2 = i8(y)}); }
  void dotBytesLoad(int acc, int x, int base, std::int64_t disp) {
    push({.op = VOp::kDotI8Load, .dst = i8(acc), .src1 = i8(x), .mem = mem(base, disp)});
  }
  void addF(int dst, int x, int y) { push({.op = VOp::kAddF, .dst = i8(dst), .src1 = i8(x), .src2 = i8(y)}); }
  /// Every lane of dst = identityOf(how).
  void identity(int dst, Combine how) {
    if (how == Combine::kSum)
      zero(dst);
    else
      constant(dst, addUniform(std::bit_cast<std::uint32_t>(identityOf(how))));
  }
  /// dst = combined(how, x, y).
  void combine(Combine how, int dst, int x, int y) {
    binary(how == Combine::kSum ? VOp::kAddF : how == Combine::kMin ? VOp::kMinF : VOp::kMaxF, dst, x, y);
  }
  void permute(int dst, int index, int src) {
    push({.op = VOp::kPermute, .dst = i8(dst), .src1 = i8(index), .src2 = i8(src)});
  }
  void permute2(int dst, int index, int lo, int hi) {
    push({.op = VOp::kPermute2, .dst = i8(dst), .src1 = i8(index), .src2 = i8(lo), .src3 = i8(hi)});
  }
  void permuteWords2(int dst, int index, int lo, int hi) {
    push({.op = VOp::kPermuteWords2, .dst = i8(dst), .src1 = i8(index), .src2 = i8(lo), .src3 = i8(hi)});
  }
  void shuffle(VOp op, int dst, int x, int y, std::int64_t imm = 0) {
    push({.op = op, .dst = i8(dst), .src1 = i8(x), .src2 = i8(y), .imm = imm});
  }

  void tileConfigure(const TileConfig& config) {
    push({.op = VOp::kTileConfigure, .imm = addConstant(wordsOf(config))});
  }
  void tileRelease() { push({.op = VOp::kTileRelease}); }
  void tileZero(int dst) { push({.op = VOp::kTileZero, .dst = i8(dst)}); }
  void tileLoad(int dst, int pitch, int base, std::int64_t disp) {
    push({.op = VOp::kTileLoad, .dst = i8(dst), .src1 = i8(pitch), .mem = mem(base, disp)});
  }
  void tileStore(int src, int pitch, int base, std::int64_t disp) {
    push({.op = VOp::kTileStore, .src1 = i8(src), .src2 = i8(pitch), .mem = mem(base, disp)});
  }
  void tileDot(VOp op, int sums, int a, int b) { push({.op = op, .dst = i8(sums), .src1 = i8(a), .src2 = i8(b)}); }

  /// The same word in every lane; an equal constant is shared.
  int addUniform(std::uint32_t word) {
    std::vector<std::int32_t> words(static_cast<std::size_t>(program_.isa.lanes()), static_cast<std::int32_t>(word));
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
      if (program_.constants[i] == words) return static_cast<int>(i);
    }
    return addConstant(std::move(words));
  }
  int addConstant(std::vector<std::int32_t> words) {
    program_.constants.push_back(std::move(words));
    return static_cast<int>(program_.constants.size()) - 1;
  }

  /// Gives each of these ranges an opmask of its own while there are any; the others share the last one, set before each use.
  void reserveMasks(const std::vector<LaneRange>& ranges) {
    for (const LaneRange& range : ranges) {
      if (range.all() || maskFor(range) > 0) continue;
      if (fixed_.size() + 1 >= kMasks) break;
      fixed_.push_back(range);
      push({.op = VOp::kMaskRange, .dst = i8(static_cast<int>(fixed_.size())), .imm = code(range)});
    }
  }

  VectorProgram take() {
    if (streams_) push({.op = VOp::kStreamFence});
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kMasks = 7;
  static std::int8_t i8(int v) { return static_cast<std::int8_t>(v); }
  static Mem mem(int base, std::int64_t disp) { return Mem{i8(base), static_cast<std::int32_t>(disp)}; }
  static std::int64_t code(const LaneRange& r) { return r.lo | static_cast<std::int64_t>(r.hi) << 8; }
  void push(VInstr instr) { program_.code.push_back(instr); }
  int maskFor(const LaneRange& range) const {
    for (std::size_t i = 0; i < fixed_.size(); ++i) {
      if (fixed_[i] == range) return static_cast<int>(i) + 1;
    }
    return -1;
  }
  int maskOf(const LaneRange& range) {
    if (range.all()) return -1;
    if (const int fixed = maskFor(range); fixed > 0) return fixed;
    push({.op = VOp::kMaskRange, .dst = i8(kMasks), .imm = code(range)});
    return kMasks;
  }

  VectorProgram program_;
  bool streams_ = false;
  std::vector<LaneRange> fixed_;
};

}  // namespace cubejit
