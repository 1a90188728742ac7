// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the dialect, and which operand of a jump says where it goes: LLVM's machine-code layer decodes, on x86 in Intel
// syntax.
#include "codegen/disassemble.h"

#include <llvm-c/Disassembler.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "codegen/binary/mc_target.h"

namespace cubejit {
namespace {

struct Dispose {
  void operator()(void* context) const { LLVMDisasmDispose(context); }
};
using Context = std::unique_ptr<void, Dispose>;

// The other dialect is Intel's on x86-64, which is wanted, and Apple's on AArch64, which is not.
Context makeContext(const HostIsa& isa, const McTarget& mc) {
  Context context(LLVMCreateDisasmCPUFeatures(mc.triple, "", mc.features, nullptr, 0, nullptr, nullptr));
  const bool x86 = architectureOf(isa.level) == Architecture::kX86_64;
  if (context)
    LLVMSetDisasmOptions(context.get(),
                         LLVMDisassembler_Option_PrintImmHex | (x86 ? LLVMDisassembler_Option_AsmPrinterVariant : 0));
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

// Jumps are printed with their distance: on x86-64 from the next instruction; on AArch64 from this one, as the last operand.
std::int32_t jumpTarget(const HostIsa& isa, std::string_view line, std::int64_t at, std::int64_t next) {
  line.remove_prefix(std::min(line.find_first_not_of("\t "), line.size()));
  const std::string_view name = line.substr(0, line.find_first_of("\t "));
  if (architectureOf(isa.level) == Architecture::kX86_64) {
    if (name.empty() || name[0] != 'j' || name.size() == line.size()) return -1;
    return static_cast<std::int32_t>(next + std::strtoll(line.data() + name.size(), nullptr, 0));
  }
  const bool jumps =
      name == "b" || name.substr(0, 2) == "b." || name == "cbz" || name == "cbnz" || name == "tbz" || name == "tbnz";
  const std::size_t distance = line.rfind('#');
  if (!jumps || distance == std::string_view::npos) return -1;
  return static_cast<std::int32_t>(at + std::strtoll(line.data() + distance + 1, nullptr, 0));
}

}  // namespace

Result<std::vector<MachineLine>> decode(const Code& code) {
  const McTarget& mc = mcTargetOf(code.isa);
  const Context context = makeContext(code.isa, mc);
  if (!context)
    return Error{ErrorCode::kUnsupported, Stage::kEmit, std::string("LLVM has no disassembler for ") + mc.triple};
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
    const std::int64_t next = at + static_cast<std::int64_t>(size);
    out.push_back(
        {static_cast<std::int32_t>(at), static_cast<std::int32_t>(size), line, jumpTarget(code.isa, line, at, next)});
    at = next;
  }
  return out;
}

Result<std::string> disassemble(const Code& code, const VectorProgram* program) {
  CUBEJIT_TRY(instructions, decode(code));
  return layOut(code, instructions, ListingNotes{program, {}, {}}).text;
}

}  // namespace cubejit
