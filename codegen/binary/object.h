// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how generated code becomes an ELF object: for linking ahead of time, and for debuggers. Code in .text, tables in
// .rodata, line numbers that point into listings, and frame rules to unwind by. Part of the component that links LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/code.h"
#include "cubejit/result.h"

namespace cubejit {

/// A function of the object; functions begin at multiples of 64 bytes, in the order given.
struct ObjectFunction {
  std::string symbol;
  std::vector<std::byte> bytes;  ///< position-independent
  std::vector<FrameStep> frame;  ///< see Code; empty = unknown, nothing is said about frames
  std::string listing;           ///< file that the lines are of; "" = no line numbers
  std::vector<std::pair<std::int32_t, std::int32_t>> lines;  ///< (code offset, line from 1), ascending
};

/// A read-only table of the object, at a multiple of 64 bytes.
struct ObjectTable {
  std::string symbol;
  std::vector<std::byte> bytes;
};

struct ObjectInput {
  HostIsa isa;            ///< of the code
  std::string name;       ///< of the compilation unit
  std::string directory;  ///< that listings are relative to
  std::vector<ObjectFunction> functions;
  std::vector<ObjectTable> tables;
};

/// A relocatable object for Linux on the ISA's architecture. Deterministic.
Result<std::vector<std::byte>> writeObject(const ObjectInput& input);

/// The code of a kernel as bytes, whatever format it has; addresses of an ELF object's other sections are not filled in, so that
/// such bytes are for reading only.
Result<Code> rawOf(const Code& code);

/// The same for a debugger: code and frame rules as if linked at `address` (of the first function; the others must follow at
/// the offsets they have in the object).
Result<std::vector<std::byte>> writeDebugObject(const ObjectInput& input, std::uint64_t address);

}  // namespace cubejit
