// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how each vector op is spelled in x86-64 through xbyak, and turns xbyak's exceptions into errors.
// Leaves what to spell to the VectorProgram (legalised for its ISA) and where the bytes run to the runtime.
#include "codegen/backend.h"

#define XBYAK64
#include <xbyak/xbyak.h>

#include <array>
#include <new>
#include <utility>

#include "codegen/vector/legalize.h"
#include "codegen/vector/op_table.h"
#include "cubejit/kernel_args.h"

namespace cubejit {
namespace {

using Xbyak::Reg64;
using Xbyak::Zmm;

// Bytes of code a kernel may take; a plan that needs more unrolled too far.
constexpr std::size_t kCodeLimit = std::size_t{1} << 20;

// Ordinary memory: bytes are only copied out of it, so it never becomes executable.
class PlainMemory final : public Xbyak::Allocator {
 public:
  bool useProtect() const override { return false; }
};

class Emitter final : public Xbyak::CodeGenerator {
 public:
  Emitter(const VectorProgram& program, PlainMemory& memory)
      : CodeGenerator(65536, Xbyak::AutoGrow, &memory), program_(program), wide_(program.isa.vectorBits == 512) {}

  Code run() {
    Code code;
    code.name = program_.name;
    code.isa = program_.isa;
    frame_ = &code.frame;
    findParts();
    prologue();
    for (std::size_t i = 0; i < program_.code.size(); ++i) {
      code.lines.emplace_back(static_cast<std::int32_t>(getSize()), static_cast<std::int32_t>(i));
      emit(program_.code[i], i);
    }
    epilogue();
    code.instructionBytes = static_cast<std::int64_t>(getSize());
    constants();
    ready();
    const auto* begin = reinterpret_cast<const std::byte*>(getCode());
    code.bytes.assign(begin, begin + getSize());
    return code;
  }

 private:
  static constexpr std::size_t kMasks = 8;
  static constexpr int kCalleeSaved[] = {3, 12, 13, 14, 15};  // rbx, r12 .. r15

  static Reg64 scalar(int s) {
    static constexpr int kMap[] = {1, 2, 6, 8, 9, 10, 11, 3, 12, 13, 14, 15};
    return Reg64(kMap[s]);
  }

  bool uses(int gpr) const {
    for (const VInstr& i : program_.code) {
      if (rowOf(i.op).dst == OperandKind::S && scalar(i.dst).getIdx() == gpr) return true;
    }
    return false;
  }

  void frame(FrameOp op, int gpr, std::int32_t offset) {
    // DWARF numbers the first eight registers in an order of its own: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp.
    static constexpr std::int8_t kDwarf[] = {0, 2, 1, 3, 7, 6, 4, 5};
    const auto reg = static_cast<std::int8_t>(gpr < 8 ? kDwarf[gpr] : gpr);
    frame_->push_back({static_cast<std::int32_t>(getSize()), op, reg, offset});
  }

  void prologue() {
    endbr64();
    push(rbp);
    std::int32_t saved = -16;  // below the return address
    frame(FrameOp::kAddressOffset, rsp.getIdx(), 16);
    frame(FrameOp::kSaved, rbp.getIdx(), saved);
    mov(rbp, rsp);
    frame(FrameOp::kAddressRegister, rbp.getIdx(), 0);
    for (const int r : kCalleeSaved) {
      if (!uses(r)) continue;
      push(Reg64(r));
      frame(FrameOp::kSaved, r, saved -= 8);
    }
  }

  void epilogue() {
    for (int i = 4; i >= 0; --i) {
      if (!uses(kCalleeSaved[i])) continue;
      pop(Reg64(kCalleeSaved[i]));
      frame(FrameOp::kRestored, kCalleeSaved[i], 0);
    }
    pop(rbp);
    frame(FrameOp::kRestored, rbp.getIdx(), 0);
    frame(FrameOp::kAddress, rsp.getIdx(), 8);
    vzeroupper();
    ret();
  }

  void constants() {
    if (program_.constants.empty()) return;
    while (getSize() % 64 != 0) db(0xCC);
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
      L(constantLabels_[i]);
      for (const std::int32_t word : program_.constants[i]) dd(static_cast<std::uint32_t>(word));
    }
  }

  // A vector register of the program's width, with its opmask.
  Xbyak::Xmm vec(int index, int mask = -1, bool zeroing = false) const {
    Xbyak::Xmm v = wide_ ? static_cast<Xbyak::Xmm>(Zmm(index)) : static_cast<Xbyak::Xmm>(Xbyak::Ymm(index));
    if (mask > 0) {
      v.setOpmaskIdx(mask);
      if (zeroing) v.setZero();
    }
    return v;
  }

  // Lanes that begin a vector and fill a half or a quarter of it are a register of that width: an access of it that reads or writes part
  // of a line does not reach for the next one. 0: the mask is something else, or not always the same.
  void findParts() {
    std::array<int, kMasks> times{};
    for (const VInstr& i : program_.code) {
      if (i.op != VOp::kMaskRange) continue;
      const auto mask = static_cast<std::size_t>(i.dst);
      const std::int64_t lo = i.imm & 255, hi = i.imm >> 8;
      parts_[mask] = wide_ && ++times[mask] == 1 && lo == 0 && (hi == 8 || hi == 4) ? static_cast<int>(hi) : 0;
    }
  }
  int partOf(int mask) const { return mask > 0 ? parts_[static_cast<std::size_t>(mask)] : 0; }
  Xbyak::Xmm lanesOf(int index, int mask, bool zeroing = false) const {
    const int part = partOf(mask);
    if (part == 8) return Xbyak::Ymm(index);
    return part == 4 ? Xbyak::Xmm(index) : vec(index, zeroing ? mask : -1, zeroing);
  }
  Xbyak::Address placeOf(const Mem& mem, int mask) {
    return mask > 0 && partOf(mask) == 0 ? at(mem) | Xbyak::Opmask(mask) : at(mem);
  }

  Xbyak::Address at(const Mem& mem) { return ptr[scalar(mem.base) + mem.disp]; }
  // Rows of a tile; the index register, which an address of a tile must have, is the distance between them.
  Xbyak::Address rowsAt(const Mem& mem, int pitch) { return ptr[scalar(mem.base) + scalar(pitch) + mem.disp]; }
  Xbyak::Address broadcastAt(const Mem& mem) { return ptr_b[scalar(mem.base) + mem.disp]; }

  void emit(const VInstr& i, std::size_t index);

  Xbyak::Address word(const Mem& mem, int index) { return ptr[scalar(mem.base) + mem.disp + 2 * index]; }

  Xbyak::Address byteOf(const Mem& mem, int index) { return ptr[scalar(mem.base) + mem.disp + index]; }

  // The hardware has a form that overwrites the low table and one that overwrites the index.
  void permuteTwo(const VInstr& i) {
    const bool words = i.op == VOp::kPermuteWords2;
    const Xbyak::Xmm dst = vec(i.dst), index = vec(i.src1), low = vec(i.src2), high = vec(i.src3);
    if (i.dst == i.src2) return words ? vpermt2w(dst, index, high) : vpermt2ps(dst, index, high);
    if (i.dst != i.src1) vmovaps(dst, index);
    words ? vpermi2w(dst, low, high) : vpermi2ps(dst, low, high);
  }

  // Words one by one: only what is in the range may be touched.
  void loadWords(const VInstr& i) {
    const Xbyak::Xmm x(i.dst);
    if (wide_) return vmovdqu32(Xbyak::Ymm(i.dst), at(i.mem));  // whole vectors only
    if (maskLo(i.imm) == 0 && maskHi(i.imm) == 8) return vmovdqu(x, at(i.mem));
    vpxor(x, x, x);
    for (int w = maskLo(i.imm); w < maskHi(i.imm); ++w) vpinsrw(x, x, word(i.mem, w), static_cast<std::uint8_t>(w));
  }
  void storeWords(const VInstr& i) {
    const Xbyak::Xmm x(i.src1);
    if (maskLo(i.imm) == 0 && maskHi(i.imm) == 8) return vmovdqu(at(i.mem), x);
    for (int w = maskLo(i.imm); w < maskHi(i.imm); ++w) vpextrw(word(i.mem, w), x, static_cast<std::uint8_t>(w));
  }

  void loadBytes(const VInstr& i) {
    const Xbyak::Xmm x(i.dst);
    if (maskLo(i.imm) == 0 && maskHi(i.imm) == 8) return vmovq(x, at(i.mem));
    vpxor(x, x, x);
    for (int b = maskLo(i.imm); b < maskHi(i.imm); ++b) vpinsrb(x, x, byteOf(i.mem, b), static_cast<std::uint8_t>(b));
  }
  void storeBytes(const VInstr& i) {
    const Xbyak::Xmm x(i.src1);
    if (maskLo(i.imm) == 0 && maskHi(i.imm) == 8) return vmovq(at(i.mem), x);
    for (int b = maskLo(i.imm); b < maskHi(i.imm); ++b) vpextrb(byteOf(i.mem, b), x, static_cast<std::uint8_t>(b));
  }
  // Each block's bytes are in all four of its words then; one of each block is wanted.
  void narrowI8(const VInstr& i) {
    const Xbyak::Ymm y(i.dst);
    const Xbyak::Xmm x(i.dst);
    vpackssdw(y, Xbyak::Ymm(i.src1), Xbyak::Ymm(i.src1));
    vpacksswb(y, y, y);
    vpermq(y, y, 8);
    vpshufd(x, x, 8);
    vmovq(x, x);
  }

  // Pieces of a block: vmaskmovps takes ten times as long to store (Zen 3: 7 to 11 cycles).
  void storeLanes(const VInstr& i) {
    const Xbyak::Xmm x(i.src1);
    if (maskLo(i.imm) == 0 && maskHi(i.imm) == 4) return vmovups(at(i.mem), x);
    for (int lane = maskLo(i.imm); lane < maskHi(i.imm);) {
      const Xbyak::Address place = ptr[scalar(i.mem.base) + i.mem.disp + 4 * lane];
      if (lane % 2 == 0 && lane + 2 <= maskHi(i.imm)) {
        lane == 0 ? vmovlps(place, x) : vmovhps(place, x);
        lane += 2;
      } else {
        lane == 0 ? vmovss(place, x) : vextractps(place, x, static_cast<std::uint8_t>(lane));
        ++lane;
      }
    }
  }

  void round(const VInstr& i) {
    const auto how = static_cast<std::uint8_t>(i.imm | 8);  // without the exception for what is inexact
    wide_ ? vrndscaleps(vec(i.dst), vec(i.src1), how) : vroundps(vec(i.dst), vec(i.src1), how);
  }
  // Comparisons of 512 bits give an opmask: k0, which no program has, since it masks nothing.
  void compare(const VInstr& i) {
    static constexpr std::uint8_t kPredicates[] = {0, 17, 18};  // EQ_OQ, LT_OQ, LE_OQ
    const std::uint8_t relation = kPredicates[i.imm];
    if (!wide_) return vcmpps(vec(i.dst), vec(i.src1), vec(i.src2), relation);
    vcmpps(k0, Zmm(i.src1), Zmm(i.src2), relation);
    vpmovm2d(Zmm(i.dst), k0);
  }

  static constexpr std::uint8_t kNearestEven = 0;  // the rounding mode in the instruction, whatever MXCSR says

  struct Loop {
    Xbyak::Label head, end;
    int counter;
  };

  const VectorProgram& program_;
  const bool wide_;
  std::array<int, kMasks> parts_{};
  std::vector<Loop> loops_;
  std::vector<FrameStep>* frame_ = nullptr;
  std::vector<Xbyak::Label> constantLabels_ = std::vector<Xbyak::Label>(program_.constants.size());

  bool innermost(std::size_t loop) const {
    for (std::size_t i = loop + 1; i < program_.code.size(); ++i) {
      if (program_.code[i].op == VOp::kLoop) return false;
      if (program_.code[i].op == VOp::kEndLoop) return true;
    }
    return true;
  }
};

void Emitter::emit(const VInstr& i, std::size_t index) {
  switch (i.op) {
    case VOp::kArg: mov(scalar(i.dst), ptr[rdi + static_cast<int>(i.imm) * 8]); break;
    case VOp::kSet: mov(scalar(i.dst), static_cast<std::uint64_t>(i.imm)); break;
    case VOp::kCopy: mov(scalar(i.dst), scalar(i.src1)); break;
    case VOp::kAddImm:
      if (i.imm != static_cast<std::int32_t>(i.imm)) {
        mov(rax, static_cast<std::uint64_t>(i.imm));
        if (i.dst != i.src1) mov(scalar(i.dst), scalar(i.src1));
        add(scalar(i.dst), rax);
      } else if (i.dst == i.src1) {
        add(scalar(i.dst), static_cast<std::uint32_t>(i.imm));
      } else {
        lea(scalar(i.dst), ptr[scalar(i.src1) + static_cast<int>(i.imm)]);
      }
      break;
    case VOp::kAdd:
      if (i.dst == i.src1)
        add(scalar(i.dst), scalar(i.src2));
      else
        lea(scalar(i.dst), ptr[scalar(i.src1) + scalar(i.src2)]);
      break;
    case VOp::kLoadScalar: mov(scalar(i.dst), at(i.mem)); break;
    case VOp::kAddLoad:
      if (i.dst != i.src1) mov(scalar(i.dst), scalar(i.src1));
      add(scalar(i.dst), at(i.mem));
      break;
    case VOp::kLoop: {
      loops_.push_back(Loop{{}, {}, i.dst});
      test(scalar(i.dst), scalar(i.dst));
      jle(loops_.back().end, T_NEAR);
      if (innermost(index)) align(32);
      L(loops_.back().head);
      break;
    }
    case VOp::kEndLoop: {
      Loop loop = std::move(loops_.back());
      loops_.pop_back();
      sub(scalar(loop.counter), 1);
      jnz(loop.head, T_NEAR);
      L(loop.end);
      break;
    }
    case VOp::kZero:
      if (wide_)
        vpxord(vec(i.dst), vec(i.dst), vec(i.dst));
      else
        vxorps(vec(i.dst), vec(i.dst), vec(i.dst));
      break;
    case VOp::kConst: vmovups(vec(i.dst), ptr[rip + constantLabels_[static_cast<std::size_t>(i.imm)]]); break;
    case VOp::kLoad: vmovups(lanesOf(i.dst, i.mask, true), at(i.mem)); break;
    case VOp::kStore: vmovups(placeOf(i.mem, i.mask), lanesOf(i.src1, i.mask)); break;
    case VOp::kStoreStream: vmovntps(at(i.mem), vec(i.src1)); break;
    case VOp::kStreamFence: sfence(); break;
    case VOp::kBroadcast:
      // vbroadcastss would occupy an FP pipe on Zen4; the integer form only needs a load port.
      if (wide_)
        vpbroadcastd(vec(i.dst), at(i.mem));
      else
        vbroadcastss(Xbyak::Ymm(i.dst), at(i.mem));
      break;
    case VOp::kPrefetch:
      if (i.imm == 1)
        prefetcht0(at(i.mem));
      else if (i.imm == 2)
        prefetcht1(at(i.mem));
      else
        prefetchw(at(i.mem));
      break;
    case VOp::kMaskRange: {
      const std::uint64_t lo = static_cast<std::uint64_t>(i.imm) & 255, hi = static_cast<std::uint64_t>(i.imm) >> 8;
      mov(eax, static_cast<std::uint32_t>(((std::uint64_t{1} << hi) - 1) & ~((std::uint64_t{1} << lo) - 1)));
      kmovw(Xbyak::Opmask(i.dst), eax);
      break;
    }
    case VOp::kMove: vmovaps(vec(i.dst, i.mask), vec(i.src1)); break;
    case VOp::kFma: vfmadd231ps(vec(i.dst, i.mask), vec(i.src1), vec(i.src2)); break;
    case VOp::kFmaLoad: vfmadd231ps(vec(i.dst), vec(i.src1), at(i.mem)); break;
    case VOp::kFmaBroadcast: vfmadd231ps(vec(i.dst, i.mask), vec(i.src1), broadcastAt(i.mem)); break;
    case VOp::kAddF: vaddps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kMinF: vminps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kMaxF: vmaxps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kSubF: vsubps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kMul: vmulps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kDiv: vdivps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kSqrt: vsqrtps(vec(i.dst), vec(i.src1)); break;
    case VOp::kScale: vscalefps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kRound: round(i); break;
    case VOp::kCompare: compare(i); break;
    case VOp::kPermute:
      if (wide_)
        vpermps(Zmm(i.dst), Zmm(i.src1), Zmm(i.src2));
      else
        vpermps(Xbyak::Ymm(i.dst), Xbyak::Ymm(i.src1), Xbyak::Ymm(i.src2));
      break;
    case VOp::kPermute2:
    case VOp::kPermuteWords2: permuteTwo(i); break;
    case VOp::kUnpackLo: vunpcklps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kUnpackHi: vunpckhps(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kUnpackLo64: vunpcklpd(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kUnpackHi64: vunpckhpd(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kShuffleBlocks:
      if (wide_) {
        vshuff32x4(Zmm(i.dst), Zmm(i.src1), Zmm(i.src2), static_cast<std::uint8_t>(i.imm));
      } else {
        // bit 0: block of src1 for the lower half; bit 1: block of src2 for the upper half
        const auto imm = static_cast<std::uint8_t>((i.imm & 1) | (2 + (i.imm >> 1 & 1)) << 4);
        vperm2f128(Xbyak::Ymm(i.dst), Xbyak::Ymm(i.src1), Xbyak::Ymm(i.src2), imm);
      }
      break;
    case VOp::kLoadHalf: vpmovzxwd(lanesOf(i.dst, i.mask, true), at(i.mem)); break;
    case VOp::kLoadF16: vcvtph2ps(lanesOf(i.dst, i.mask, true), at(i.mem)); break;
    case VOp::kStoreHalf: vpmovdw(placeOf(i.mem, i.mask), lanesOf(i.src1, i.mask)); break;
    case VOp::kStoreF16: vcvtps2ph(placeOf(i.mem, i.mask), lanesOf(i.src1, i.mask), kNearestEven); break;
    case VOp::kStoreLow:
      vmovdqu16(i.mask > 0 ? at(i.mem) | Xbyak::Opmask(i.mask) : at(i.mem), Xbyak::Ymm(i.src1));
      break;
    case VOp::kLoadI8: vpmovsxbd(lanesOf(i.dst, i.mask, true), at(i.mem)); break;
    case VOp::kStoreI8: vpmovsdb(placeOf(i.mem, i.mask), lanesOf(i.src1, i.mask)); break;
    case VOp::kToInt: vcvtps2dq(vec(i.dst), vec(i.src1)); break;
    case VOp::kToFloat: vcvtdq2ps(vec(i.dst), vec(i.src1)); break;
    case VOp::kNarrowBf16: vcvtneps2bf16(Xbyak::Ymm(i.dst), Zmm(i.src1)); break;
    case VOp::kDot: vdpbf16ps(vec(i.dst, i.mask), vec(i.src1), vec(i.src2)); break;
    case VOp::kDotLoad: vdpbf16ps(vec(i.dst), vec(i.src1), at(i.mem)); break;
    case VOp::kDotBroadcast: vdpbf16ps(vec(i.dst, i.mask), vec(i.src1), broadcastAt(i.mem)); break;
    case VOp::kDotI8: vpdpbusd(vec(i.dst), vec(i.src1), vec(i.src2), Xbyak::EvexEncoding); break;
    case VOp::kDotI8Load: vpdpbusd(vec(i.dst), vec(i.src1), at(i.mem), Xbyak::EvexEncoding); break;
    case VOp::kAnd:
      wide_ ? vpandd(vec(i.dst), vec(i.src1), vec(i.src2)) : vpand(vec(i.dst), vec(i.src1), vec(i.src2));
      break;
    case VOp::kOr:
      wide_ ? vpord(vec(i.dst), vec(i.src1), vec(i.src2)) : vpor(vec(i.dst), vec(i.src1), vec(i.src2));
      break;
    case VOp::kXor:
      wide_ ? vpxord(vec(i.dst), vec(i.src1), vec(i.src2)) : vpxor(vec(i.dst), vec(i.src1), vec(i.src2));
      break;
    case VOp::kAddInt: vpaddd(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kSubInt: vpsubd(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kMinInt: vpminud(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kMaxInt: vpmaxud(vec(i.dst), vec(i.src1), vec(i.src2)); break;
    case VOp::kShiftRight: vpsrld(vec(i.dst), vec(i.src1), static_cast<std::uint8_t>(i.imm)); break;
    case VOp::kLoadWords: loadWords(i); break;
    case VOp::kStoreWords: storeWords(i); break;
    case VOp::kWidenHalf: vpmovzxwd(Xbyak::Ymm(i.dst), Xbyak::Xmm(i.src1)); break;
    case VOp::kWidenF16: vcvtph2ps(Xbyak::Ymm(i.dst), Xbyak::Xmm(i.src1)); break;
    case VOp::kNarrowF16:
      if (wide_)
        vcvtps2ph(Xbyak::Ymm(i.dst), Zmm(i.src1), kNearestEven);
      else
        vcvtps2ph(Xbyak::Xmm(i.dst), Xbyak::Ymm(i.src1), kNearestEven);
      break;
    case VOp::kLoadBytes: loadBytes(i); break;
    case VOp::kStoreBytes: storeBytes(i); break;
    case VOp::kWidenI8: vpmovsxbd(Xbyak::Ymm(i.dst), Xbyak::Xmm(i.src1)); break;
    case VOp::kNarrowI8: narrowI8(i); break;
    case VOp::kShuffleBytes: vpshufb(vec(i.dst), vec(i.src2), vec(i.src1)); break;
    case VOp::kTileConfigure: ldtilecfg(ptr[rip + constantLabels_[static_cast<std::size_t>(i.imm)]]); break;
    case VOp::kTileRelease: tilerelease(); break;
    case VOp::kTileZero: tilezero(Xbyak::Tmm(i.dst)); break;
    case VOp::kTileLoad: tileloadd(Xbyak::Tmm(i.dst), rowsAt(i.mem, i.src1)); break;
    case VOp::kTileStore: tilestored(rowsAt(i.mem, i.src2), Xbyak::Tmm(i.src1)); break;
    case VOp::kTileDotBf16: tdpbf16ps(Xbyak::Tmm(i.dst), Xbyak::Tmm(i.src1), Xbyak::Tmm(i.src2)); break;
    case VOp::kTileDotF16: tdpfp16ps(Xbyak::Tmm(i.dst), Xbyak::Tmm(i.src1), Xbyak::Tmm(i.src2)); break;
    case VOp::kLoadMaskVector: vmaskmovps(vec(i.dst), vec(i.src1), at(i.mem)); break;
    case VOp::kStoreLanes: storeLanes(i); break;
    case VOp::kBlendVector: vblendvps(vec(i.dst), vec(i.src1), vec(i.src2), vec(i.src3)); break;
    case VOp::kShiftLeft: vpslld(vec(i.dst), vec(i.src1), static_cast<std::uint8_t>(i.imm)); break;
  }
}

}  // namespace

Result<Code> emitXbyak(const VectorProgram& program) {
  CUBEJIT_RETURN_IF_ERROR(checkLegal(program));
  if (architectureOf(program.isa.level) != Architecture::kX86_64) {
    return Error{ErrorCode::kUnsupported, Stage::kEmit,
                 std::string("xbyak writes x86-64 code only; for ") + toString(program.isa.level) +
                     " there is the backend llvm"};
  }
  try {
    PlainMemory memory;
    Code code = Emitter(program, memory).run();
    if (code.bytes.size() > kCodeLimit) {
      return Error{ErrorCode::kLimitExceeded, Stage::kEmit,
                   program.name + " takes " + std::to_string(code.bytes.size()) +
                       " bytes of code, more than the limit of " + std::to_string(kCodeLimit)};
    }
    return code;
  } catch (const Xbyak::Error& error) {
    const int number = error;
    if (number == Xbyak::ERR_CANT_ALLOC) throw std::bad_alloc();
    return Error{number == Xbyak::ERR_CODE_IS_TOO_BIG ? ErrorCode::kLimitExceeded : ErrorCode::kInternal, Stage::kEmit,
                 program.name + ": " + error.what()};
  }
}

}  // namespace cubejit
