// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a backend returns: machine code as bytes, position-independent, before it is memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/host_isa.h"

namespace cubejit {

enum class CodeFormat : std::uint8_t {
  kRaw,  ///< bytes to be placed at a 64-byte boundary; entry at offset 0
  kElf   ///< a relocatable ELF object; entry is the symbol `name`
};

/// How a debugger or profiler finds the caller from inside a kernel: a change of its rules, in the words of DWARF. Registers
/// have DWARF's numbers, offsets count from the frame's address (what the stack pointer was before the call).
enum class FrameOp : std::uint8_t { kAddressOffset, kAddressRegister, kAddress, kSaved, kRestored };
struct FrameStep {
  std::int32_t at = 0;  ///< code offset from which it holds
  FrameOp op{};
  std::int8_t reg = -1;
  std::int32_t offset = 0;
};

struct Code {
  CodeFormat format = CodeFormat::kRaw;
  std::string name;  ///< symbol
  HostIsa isa;
  std::vector<std::byte> bytes;       ///< raw: instructions, then the constants they address relative to rip
  std::int64_t instructionBytes = 0;  ///< raw: where the constants begin; ELF: size of the only section with code
  /// (offset in the code, VectorProgram instruction), ascending by offset; by instruction too unless LLVM moved some.
  std::vector<std::pair<std::int32_t, std::int32_t>> lines;
  std::vector<FrameStep> frame;  ///< ascending; what holds on entry is the architecture's (x86-64: rsp + 8)
};

}  // namespace cubejit
