// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text of a program around its operands, whose order is vector/text.h's; the names of ops come from ops.def.
#include "codegen/vector/print.h"

#include <algorithm>

#include "codegen/text/writer.h"
#include "codegen/vector/text.h"

namespace cubejit {
namespace {

class OperandPrinter {
 public:
  explicit OperandPrinter(std::string& text) : text_(text) {}

  void reg(OperandKind kind, int number) { operand(registerLetter(kind) + std::to_string(number)); }
  void mask(int number) {
    if (number >= 0) text_ += " {k" + std::to_string(number) + "}";
  }
  void memory(const Mem& mem) {
    const std::int64_t disp = mem.disp;
    operand("[s" + std::to_string(mem.base) +
            (disp == 0 ? "" : (disp < 0 ? " - " : " + ") + std::to_string(disp < 0 ? -disp : disp)) + "]");
  }
  void immediate(ImmKind kind, std::int64_t imm) {
    if (kind == ImmKind::A && imm >= 0 && imm < kArgSlots)
      operand(kArgNames[imm]);
    else if (kind == ImmKind::L)
      operand("[" + std::to_string(maskLo(imm)) + ".." + std::to_string(maskHi(imm)) + ")");
    else
      operand((kind == ImmKind::A ? "arg#" : kind == ImmKind::C ? "c" : "") + std::to_string(imm));
  }

 private:
  void operand(const std::string& operand) {
    text_ += (first_ ? " " : ", ") + operand;
    first_ = false;
  }
  std::string& text_;
  bool first_ = true;
};

std::string header(const VectorProgram& program) {
  std::string text = "cubejit vector " + std::to_string(kVectorTextVersion) + "\n" + nameText(program.name) + " for " +
                     toString(program.isa.level);
  const HostIsa usual = isaOf(program.isa.level);
  std::apply(
      [&](const auto&... field) {
        ((program.isa.*field.second == usual.*field.second
              ? text
              : text += std::string(" ") + field.first + " " + std::to_string(program.isa.*field.second)),
         ...);
      },
      kIsaFields);
  return text + "\n";
}

// As it is, unless reading would not give it back.
std::string commentText(const std::string& comment) {
  const bool plain = !comment.empty() && comment.front() != '"' && comment.front() != ' ' && comment.back() != ' ' &&
                     std::all_of(comment.begin(), comment.end(), [](unsigned char c) { return c >= ' ' && c != 127; });
  return plain ? comment : quotedText(comment);
}

}  // namespace

std::string print(const VInstr& i) {
  std::string text = rowOf(i.op).text;
  visitOperands(i, OperandPrinter(text));
  return text;
}

std::string print(const VectorProgram& program) {
  std::string text = header(program);
  for (std::size_t c = 0; c < program.constants.size(); ++c) {
    text += "c" + std::to_string(c) + " =";
    for (const std::int32_t word : program.constants[c]) text += " " + std::to_string(word);
    text += "\n";
  }
  int depth = 1;
  auto comment = program.comments.begin();
  const auto comments = [&](std::size_t before) {
    for (; comment != program.comments.end() && comment->first <= static_cast<std::int64_t>(before); ++comment) {
      text += std::string(static_cast<std::size_t>(2 * depth), ' ') + "; " + commentText(comment->second) + "\n";
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
