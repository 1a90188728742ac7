// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing but the dialect: LLVM's machine-code layer decodes, in Intel syntax.
#include "codegen/disassemble.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace cubejit {
namespace {

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

std::string bytesAt(const Code& code, std::int64_t at) {
  std::string text;
  for (std::int64_t i = at; i < std::min(at + 8, code.instructionBytes); ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x ", std::to_integer<unsigned>(code.bytes[static_cast<std::size_t>(i)]));
    text += byte;
  }
  return text;
}

// Jumps are printed with their distance from the next instruction.
std::int32_t jumpTarget(const char* line, std::int64_t next) {
  while (*line == '\t' || *line == ' ') ++line;
  if (*line != 'j') return -1;
  const char* distance = std::strpbrk(line, " \t");
  return distance == nullptr ? -1 : static_cast<std::int32_t>(next + std::strtoll(distance, nullptr, 0));
}

}  // namespace

Result<std::vector<MachineLine>> decode(const Code& code) {
  if (architectureOf(code.isa.level) != Architecture::kX86_64)
    return Error{ErrorCode::kUnsupported, Stage::kEmit,
                 std::string("machine code for ") + toString(code.isa.level) +
                     " cannot be read back; stages problem, plan, tile, "
                     "vector, ll, ll.opt and bin can be dumped"};
  const Context context = makeContext();
  if (!context) return Error{ErrorCode::kInternal, Stage::kEmit, "LLVM has no x86-64 disassembler"};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.bytes.data());
  std::vector<MachineLine> out;
  for (std::int64_t at = 0; at < code.instructionBytes;) {
    char line[160];
    // LLVM's interface takes the bytes without const but does not write them.
    const std::size_t size = LLVMDisasmInstruction(context.get(), const_cast<std::uint8_t*>(bytes + at),
                                                   static_cast<std::uint64_t>(code.instructionBytes - at),
                                                   static_cast<std::uint64_t>(at), line, sizeof line);
    if (size == 0)
      return Error{ErrorCode::kInternal, Stage::kEmit,
                   code.name + ": no instruction at offset " + std::to_string(at) + ": " + bytesAt(code, at)};
    at += static_cast<std::int64_t>(size);
    out.push_back({static_cast<std::int32_t>(at - static_cast<std::int64_t>(size)), static_cast<std::int32_t>(size),
                   line, jumpTarget(line, at)});
  }
  return out;
}

Result<std::string> disassemble(const Code& code, const VectorProgram* program) {
  CUBEJIT_TRY(instructions, decode(code));
  return layOut(code, instructions, ListingNotes{program, {}, {}}).text;
}

}  // namespace cubejit
