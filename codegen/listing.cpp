// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides columns and indentation: ops are comments, indented by their loops; what an op means stands behind it.
#include "codegen/listing.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "codegen/vector/print.h"

namespace cubejit {
namespace {

constexpr std::size_t kByteColumns = 11;    // most EVEX instructions with a 32-bit displacement
constexpr std::size_t kPhraseColumn = 46;   // behind most ops of an inner loop
constexpr std::size_t kConstantAlign = 64;  // as the emitter places constants

std::string hex(std::int64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

class Columns {
 public:
  Columns(const Code& code, const ListingNotes& notes) : code_(code), notes_(notes) {}

  Listing run(const std::vector<MachineLine>& instructions) {
    line("; " + code_.name + " for " + toString(code_.isa.level) + ", " + std::to_string(code_.instructionBytes) +
         " bytes of instructions");
    for (const std::string& head : notes_.head) line("; " + head);
    for (const MachineLine& i : instructions) {
      opsUpTo(i.offset);
      out_.lines.emplace_back(i.offset, lines_ + 1);
      const bool jump = notes_.program != nullptr && i.target >= 0;
      line("  " + hex(i.offset, 5) + "  " + byteText(i) + i.text + (jump ? "  -> " + hex(i.target, 5) : ""));
    }
    opsUpTo(static_cast<std::int32_t>(code_.instructionBytes));
    constants();
    return std::move(out_);
  }

 private:
  void line(const std::string& text) {
    out_.text += text + "\n";
    ++lines_;
  }

  std::string byteText(const MachineLine& i) const {
    std::string text;
    for (std::int32_t b = 0; b < i.size; ++b)
      text += hex(std::to_integer<int>(code_.bytes[static_cast<std::size_t>(i.offset + b)]), 2) + " ";
    text.resize(std::max(text.size(), 3 * kByteColumns), ' ');
    return text;
  }

  // The comments and ops that start at or before `offset` and were not shown yet.
  void opsUpTo(std::int32_t offset) {
    if (notes_.program == nullptr) return;
    const VectorProgram& program = *notes_.program;
    for (; next_ < code_.lines.size() && code_.lines[next_].first <= offset; ++next_) {
      const std::int32_t index = code_.lines[next_].second;
      for (; comment_ < program.comments.size() && program.comments[comment_].first <= index; ++comment_)
        line("; " + std::string(2 * depth_, ' ') + program.comments[comment_].second);
      if (index >= 0 && static_cast<std::size_t>(index) < program.code.size()) op(static_cast<std::size_t>(index));
    }
  }

  void op(std::size_t index) {
    const VInstr& instr = notes_.program->code[index];
    if (instr.op == VOp::kEndLoop && depth_ > 0) --depth_;
    std::string text = ";   " + std::string(2 * depth_, ' ') + print(instr);
    if (index < notes_.phrases.size() && !notes_.phrases[index].empty()) {
      text.resize(std::max(text.size() + 2, kPhraseColumn), ' ');
      text += notes_.phrases[index];
    }
    line(text);
    if (instr.op == VOp::kLoop) ++depth_;
  }

  void constants() {
    const auto total = code_.bytes.size();
    std::size_t at =
        (static_cast<std::size_t>(code_.instructionBytes) + kConstantAlign - 1) / kConstantAlign * kConstantAlign;
    if (at < total) line("; constants");
    for (; at + 4 <= total; at += 4) {
      std::int32_t word;
      std::memcpy(&word, code_.bytes.data() + at, 4);
      line("  " + hex(static_cast<std::int64_t>(at), 5) + "  .long " + std::to_string(word));
    }
  }

  const Code& code_;
  const ListingNotes& notes_;
  Listing out_;
  std::size_t next_ = 0, comment_ = 0, depth_ = 0;
  std::int32_t lines_ = 0;
};

}  // namespace

Listing layOut(const Code& code, const std::vector<MachineLine>& instructions, const ListingNotes& notes) {
  return Columns(code, notes).run(instructions);
}

std::vector<std::pair<std::int32_t, std::int32_t>> innerLoops(const std::vector<MachineLine>& instructions) {
  std::vector<std::pair<std::int32_t, std::int32_t>> loops;
  std::int32_t lastJump = -1;
  for (const MachineLine& i : instructions) {
    if (i.target < 0) continue;
    if (i.target <= i.offset && i.target > lastJump) loops.emplace_back(i.target, i.offset + i.size);
    lastJump = i.offset;
  }
  return loops;
}

}  // namespace cubejit
