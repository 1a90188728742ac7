// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the layout of a listing. Leaves decoding to LLVM's machine-code layer; the only file that includes LLVM.
#include "codegen/disassemble.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "codegen/vector/print.h"

namespace cubejit {
namespace {

constexpr std::size_t kByteColumns = 11;  // most EVEX instructions with a 32-bit displacement

struct Dispose {
  void operator()(void* context) const { LLVMDisasmDispose(context); }
};
using Context = std::unique_ptr<void, Dispose>;

Context makeContext() {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    return true;
  }();
  static_cast<void>(initialised);
  Context context(LLVMCreateDisasm("x86_64-unknown-linux-gnu", nullptr, 0, nullptr, nullptr));
  if (context)
    LLVMSetDisasmOptions(context.get(),
                         LLVMDisassembler_Option_AsmPrinterVariant | LLVMDisassembler_Option_PrintImmHex);
  return context;
}

std::string hex(std::int64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

std::string byteText(const std::uint8_t* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += hex(bytes[i], 2) + " ";
  text.resize(std::max(text.size(), 3 * kByteColumns), ' ');
  return text;
}

// The comments and instructions of the program that start at or before `offset` and were not shown yet.
class Annotations {
 public:
  Annotations(const Code& code, const VectorProgram* program) : code_(code), program_(program) {}

  std::string upTo(std::int64_t offset) {
    std::string text;
    if (program_ == nullptr) return text;
    for (; next_ < code_.lines.size() && code_.lines[next_].first <= offset; ++next_) {
      const std::int32_t index = code_.lines[next_].second;
      for (; comment_ < program_->comments.size() && program_->comments[comment_].first <= index; ++comment_)
        text += "; " + program_->comments[comment_].second + "\n";
      if (index >= 0 && static_cast<std::size_t>(index) < program_->code.size())
        text += ";   " + print(program_->code[static_cast<std::size_t>(index)]) + "\n";
    }
    return text;
  }

 private:
  const Code& code_;
  const VectorProgram* program_;
  std::size_t next_ = 0, comment_ = 0;
};

std::string constantLines(const Code& code, const std::uint8_t* bytes) {
  std::string text;
  const auto total = static_cast<std::int64_t>(code.bytes.size());
  std::int64_t at = (code.instructionBytes + 63) / 64 * 64;
  if (at < total) text += "; constants\n";
  for (; at + 4 <= total; at += 4) {
    std::int32_t word;
    std::memcpy(&word, bytes + at, 4);
    text += "  " + hex(at, 5) + "  .long " + std::to_string(word) + "\n";
  }
  return text;
}

}  // namespace

Result<std::string> disassemble(const Code& code, const VectorProgram* program) {
  const Context context = makeContext();
  if (!context) return Error{ErrorCode::kInternal, Stage::kEmit, "LLVM has no x86-64 disassembler"};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.bytes.data());
  std::string text = "; " + code.name + " for " + toString(code.isa.level) + ", " +
                     std::to_string(code.instructionBytes) + " bytes of instructions\n";
  Annotations annotations(code, program);
  for (std::int64_t at = 0; at < code.instructionBytes;) {
    char line[160];
    // LLVM's interface takes the bytes without const but does not write them.
    const std::size_t size = LLVMDisasmInstruction(context.get(), const_cast<std::uint8_t*>(bytes + at),
                                                   static_cast<std::uint64_t>(code.instructionBytes - at),
                                                   static_cast<std::uint64_t>(at), line, sizeof line);
    if (size == 0)
      return Error{ErrorCode::kInternal, Stage::kEmit,
                   code.name + ": no instruction at offset " + std::to_string(at) + ": " + byteText(bytes + at, 8)};
    text += annotations.upTo(at) + "  " + hex(at, 5) + "  " + byteText(bytes + at, size) + line + "\n";
    at += static_cast<std::int64_t>(size);
  }
  return text + annotations.upTo(code.instructionBytes) + constantLines(code, bytes);
}

}  // namespace cubejit
