// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules, one function for each subject; a single walk in program order applies them.
#include "codegen/vector/verify.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "codegen/vector/op_table.h"
#include "codegen/vector/print.h"
#include "codegen/vector/tile_config.h"
#include "cubejit/kernel_args.h"

namespace cubejit {
namespace {

constexpr int kOpmasks = 7;  // k1 .. k7; k0 means "no mask" to the hardware

class LoopWalk {
 public:
  explicit LoopWalk(const VectorProgram& program) : p_(program) {}

  std::string run() {
    shape();
    if (!rules_.empty()) return rules_;  // numbers below would be judged against a meaningless ISA
    for (at_ = 0; at_ < p_.code.size(); ++at_) instruction(p_.code[at_]);
    streams();
    released();
    for (const std::size_t open : loops_)
      rules_ += "instruction " + std::to_string(open) + " `" + print(p_.code[open]) + "`: loop is never closed\n";
    return rules_;
  }

 private:
  void shape() {
    const HostIsa& isa = p_.isa;
    if (isa.vectorBits != 128 && isa.vectorBits != 256 && isa.vectorBits != 512)
      rules_ += "vectorBits " + std::to_string(isa.vectorBits) + " is not 128, 256 or 512\n";
    if (isa.vectorRegs < 1 || isa.vectorRegs > 32)
      rules_ += "vectorRegs " + std::to_string(isa.vectorRegs) + " is not in [1, 32]\n";
    for (std::size_t c = 0; c < p_.constants.size(); ++c) {
      if (p_.constants[c].size() != static_cast<std::size_t>(isa.lanes())) {
        rules_ += "constant c" + std::to_string(c) + " has " + std::to_string(p_.constants[c].size()) + " words, not " +
                  std::to_string(isa.lanes()) + "\n";
      }
    }
    std::int64_t last = 0;
    for (const auto& [index, text] : p_.comments) {
      if (index < last || index > static_cast<std::int64_t>(p_.code.size()))
        rules_ += "comment \"" + text + "\" at " + std::to_string(index) + " is out of order or beyond the code\n";
      last = std::max<std::int64_t>(last, index);
    }
    for (std::size_t i = 0; i < p_.code.size(); ++i) {
      if (static_cast<std::size_t>(p_.code[i].op) >= kOpCount)
        rules_ += "instruction " + std::to_string(i) + ": no such op\n";
    }
  }

  // Streaming stores are weakly ordered: whoever is told that a kernel is done must find its results.
  void streams() {
    std::size_t stored = p_.code.size(), depth = 0, fenced = 0;
    for (std::size_t i = 0; i < p_.code.size(); ++i) {
      const VOp op = p_.code[i].op;
      depth += op == VOp::kLoop ? 1 : 0;
      if (op == VOp::kEndLoop && depth > 0) --depth;
      if (op == VOp::kStoreStream) stored = i;
      if (op == VOp::kStreamFence && depth == 0) fenced = i;
    }
    if (stored < p_.code.size() && fenced <= stored)
      rules_ += "instruction " + std::to_string(stored) + " `" + print(p_.code[stored]) + "`: no fence.nt follows\n";
  }

  void fail(const std::string& rule) {
    rules_ += "instruction " + std::to_string(at_) + " `" + print(p_.code[at_]) + "`: " + rule + "\n";
  }

  void instruction(const VInstr& i) {
    const OpRow& row = rowOf(i.op);
    source(row.src1, i.src1, "src1");
    source(row.src2, i.src2, "src2");
    source(row.src3, i.src3, "src3");
    memory(row, i.mem);
    mask(row, i.mask);
    if (readsDst(i)) source(row.dst, i.dst, "dst");
    if (i.op == VOp::kEndLoop) {
      if (loops_.empty())
        fail("no loop is open");
      else
        loops_.pop_back();
    }
    immediate(row, i);
    tiles(row, i);
    destination(row, i);
    if (i.op == VOp::kLoop) loops_.push_back(at_);
    const bool twoTables = i.op == VOp::kPermute2 || i.op == VOp::kPermuteWords2;
    if (twoTables && i.dst == i.src3 && i.dst != i.src1 && i.dst != i.src2) fail("dst is src3");
  }

  int limit(OperandKind kind) const {
    if (isTile(kind)) return kTileRegs;
    return kind == OperandKind::S ? kScalarRegs : kind == OperandKind::K ? kOpmasks + 1 : p_.isa.vectorRegs;
  }

  // True if the number is right for its kind; absent operands must keep their default.
  bool number(OperandKind kind, int value, const char* name) {
    if (kind == OperandKind::N) {
      if (value != -1) fail(std::string(name) + " is given but means nothing");
      return false;
    }
    const int first = kind == OperandKind::K ? 1 : 0;
    if (value >= first && value < limit(kind)) return true;
    fail(std::string(name) + " " + std::to_string(value) + " is not in [" + std::to_string(first) + ", " +
         std::to_string(limit(kind)) + ")");
    return false;
  }

  std::uint64_t& defined(OperandKind kind) {
    if (isTile(kind)) return tiles_;
    return kind == OperandKind::S ? scalars_ : kind == OperandKind::K ? masks_ : vectors_;
  }

  void source(OperandKind kind, int value, const char* name) {
    if (number(kind, value, name) && (defined(kind) >> value & 1) == 0)
      fail(std::string(name) + " is read before it is written");
  }

  void memory(const OpRow& row, const Mem& mem) {
    if (row.mem == MemUse::N) {
      if (!(mem == Mem{})) fail("a memory operand is given but means nothing");
    } else {
      source(OperandKind::S, mem.base, "mem.base");
    }
  }

  void mask(const OpRow& row, int mask) {
    if (mask == -1) return;
    if (row.mask == MaskUse::N)
      fail("the op takes no mask");
    else
      source(OperandKind::K, mask, "mask");
  }

  void destination(const OpRow& row, const VInstr& i) {
    if (!number(row.dst, i.dst, "dst")) return;
    if (row.dst == OperandKind::S) {
      for (const std::size_t open : loops_) {
        if (p_.code[open].dst == i.dst) fail("writes the counter of the loop at " + std::to_string(open));
      }
    }
    defined(row.dst) |= std::uint64_t{1} << i.dst;
  }

  // Shapes come from the last tile.cfg before an instruction. It stands outside loops, so it is the last one that ran, too.
  void tiles(const OpRow& row, const VInstr& i) {
    if (i.op == VOp::kTileConfigure || i.op == VOp::kTileRelease) {
      if (!loops_.empty()) fail("tiles are configured and released outside loops only");
      configure(i);
      return;
    }
    const auto shape = [&](OperandKind kind, int tile, const char* name) {
      if (!isTile(kind) || tile < 0 || tile >= kTileRegs) return TileShape{};
      if (config_[tile].rows == 0) fail(std::string(name) + " is not configured");
      return config_[tile];
    };
    const TileShape dst = shape(row.dst, i.dst, "dst"), a = shape(row.src1, i.src1, "src1"),
                    b = shape(row.src2, i.src2, "src2");
    if (i.op != VOp::kTileDotBf16 && i.op != VOp::kTileDotF16) return;
    if (i.dst == i.src1 || i.dst == i.src2 || i.src1 == i.src2) fail("dst, src1 and src2 must be three tiles");
    const auto equal = [&](int x, const char* what, int y, const char* other) {
      if (x != y) fail(std::string(what) + " " + std::to_string(x) + " must be " + std::to_string(y) + ", " + other);
    };
    equal(dst.rows, "rows of dst", a.rows, "those of src1");
    equal(dst.rowBytes, "bytes a row of dst", b.rowBytes, "those of src2");
    equal(b.rows, "rows of src2", a.rowBytes / 4, "the words in a row of src1");
  }

  void configure(const VInstr& i) {
    tiles_ = 0;
    config_ = {};
    if (i.op == VOp::kTileRelease || i.imm < 0 || i.imm >= static_cast<std::int64_t>(p_.constants.size())) return;
    const std::vector<std::int32_t>& words = p_.constants[static_cast<std::size_t>(i.imm)];
    if (p_.isa.vectorBits != 512) return fail("a constant must have 512 bits");
    if (const std::string broken = brokenTileRules(words); !broken.empty()) return fail(broken);
    config_ = tileConfigOf(words);
    configured_ = at_;
  }

  // What follows a program must not find its tiles: they are saved and restored with every switch of threads.
  void released() {
    std::size_t released = 0;
    for (std::size_t i = 0; i < p_.code.size(); ++i) {
      if (p_.code[i].op == VOp::kTileRelease) released = i;
    }
    if (configured_ && released < *configured_)
      rules_ += "instruction " + std::to_string(*configured_) + " `" + print(p_.code[*configured_]) +
                "`: no tile.release follows\n";
  }

  void within(std::int64_t value, std::int64_t lo, std::int64_t hi) {
    if (value < lo || value > hi)
      fail("immediate " + std::to_string(value) + " is not in [" + std::to_string(lo) + ", " + std::to_string(hi) +
           "]");
  }

  void immediate(const OpRow& row, const VInstr& i) {
    switch (row.imm) {
      case ImmKind::N: within(i.imm, 0, 0); break;
      case ImmKind::A: within(i.imm, 0, kArgSlots - 1); break;
      case ImmKind::C: within(i.imm, 0, static_cast<std::int64_t>(p_.constants.size()) - 1); break;
      case ImmKind::L:
        within(maskHi(i.imm), 1, p_.isa.lanes());
        within(maskLo(i.imm), 0, maskHi(i.imm) - 1);
        break;
      case ImmKind::I:
        if (i.op == VOp::kPrefetch) within(i.imm, 1, 3);
        if (i.op == VOp::kShiftLeft || i.op == VOp::kShiftRight) within(i.imm, 0, 31);
        if (i.op == VOp::kShuffleBlocks && p_.isa.vectorBits == 128) fail("a vector has one block only");
        if (i.op == VOp::kRound) within(i.imm, 0, 1);
        if (i.op == VOp::kCompare) within(i.imm, 0, 2);
        if (i.op == VOp::kShuffleBlocks) within(i.imm, 0, p_.isa.vectorBits == 512 ? 255 : 3);
        break;
    }
  }

  const VectorProgram& p_;
  std::string rules_;
  std::size_t at_ = 0;
  std::vector<std::size_t> loops_;  // indices of the open kLoops
  std::uint64_t scalars_ = 0, vectors_ = 0, masks_ = 0, tiles_ = 0;
  TileConfig config_;
  std::optional<std::size_t> configured_;  // the last tile.cfg
};

}  // namespace

Status verify(const VectorProgram& program) {
  std::string rules = LoopWalk(program).run();
  if (rules.empty()) return Unit{};
  rules.pop_back();
  return Error{ErrorCode::kInternal, Stage::kVector,
               "vector program " + program.name + " is not well formed\n" + rules};
}

}  // namespace cubejit
