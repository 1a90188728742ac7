// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the spelling of operands; the names of ops come from ops.def.
#include "codegen/vector/print.h"

#include <algorithm>

#include "codegen/vector/op_table.h"
#include "cubejit/kernel_args.h"

namespace cubejit {
namespace {

constexpr const char* kArgNames[] = {"a",        "b",        "c",          "list", "repeat",   "a_repeat",
                                     "b_repeat", "c_repeat", "accumulate", "d",    "residual", "d_repeat"};
static_assert(sizeof(kArgNames) / sizeof(kArgNames[0]) == kArgSlots);

std::string registerName(OperandKind kind, int number) {
  const char letter = kind == OperandKind::S ? 's' : kind == OperandKind::K ? 'k' : 'v';
  return letter + std::to_string(number);
}

std::string immText(ImmKind kind, std::int64_t imm) {
  switch (kind) {
    case ImmKind::A: return imm >= 0 && imm < kArgSlots ? kArgNames[imm] : "arg#" + std::to_string(imm);
    case ImmKind::C: return "c" + std::to_string(imm);
    case ImmKind::L: return "[" + std::to_string(maskLo(imm)) + ".." + std::to_string(maskHi(imm)) + ")";
    case ImmKind::I:
    case ImmKind::N: break;
  }
  return std::to_string(imm);
}

std::string memText(const Mem& mem) {
  const std::int64_t disp = mem.disp;
  std::string text = "[s" + std::to_string(mem.base);
  if (disp != 0) text += (disp < 0 ? " - " : " + ") + std::to_string(disp < 0 ? -disp : disp);
  return text + "]";
}

}  // namespace

std::string print(const VInstr& i) {
  const OpRow& row = rowOf(i.op);
  std::string text = row.text;
  bool first = true;
  const auto operand = [&](const std::string& t) {
    text += (first ? " " : ", ") + t;
    first = false;
  };
  const std::string mask = i.mask >= 0 ? " {k" + std::to_string(i.mask) + "}" : "";
  if (row.mem == MemUse::W || row.mem == MemUse::P) operand(memText(i.mem) + mask);
  if (row.dst != OperandKind::N) operand(registerName(row.dst, i.dst) + mask);
  if (row.src1 != OperandKind::N) operand(registerName(row.src1, i.src1));
  if (row.src2 != OperandKind::N) operand(registerName(row.src2, i.src2));
  if (row.src3 != OperandKind::N) operand(registerName(row.src3, i.src3));
  if (row.mem == MemUse::R) operand(memText(i.mem));
  if (row.imm != ImmKind::N) operand(immText(row.imm, i.imm));
  return text;
}

std::string print(const VectorProgram& program) {
  std::string text = "vector " + program.name + " for " + toString(program.isa.level) + ", " +
                     std::to_string(program.isa.lanes()) + " lanes\n";
  for (std::size_t c = 0; c < program.constants.size(); ++c) {
    text += "c" + std::to_string(c) + " =";
    for (const std::int32_t word : program.constants[c]) text += " " + std::to_string(word);
    text += "\n";
  }
  int depth = 1;
  auto comment = program.comments.begin();
  const auto comments = [&](std::size_t before) {
    for (; comment != program.comments.end() && comment->first <= static_cast<std::int64_t>(before); ++comment) {
      text += std::string(static_cast<std::size_t>(2 * depth), ' ') + "; " + comment->second + "\n";
    }
  };
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    comments(i);
    const VInstr& instr = program.code[i];
    if (instr.op == VOp::kEndLoop) depth = std::max(1, depth - 1);
    text += std::string(static_cast<std::size_t>(2 * depth), ' ') + print(instr) + "\n";
    if (instr.op == VOp::kLoop) ++depth;
  }
  comments(program.code.size());
  return text;
}

}  // namespace cubejit
