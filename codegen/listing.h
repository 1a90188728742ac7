// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the layout of an assembly listing: offsets, bytes and Intel syntax, below the vector ops they came from.
// Leaves decoding to codegen/disassemble and what an op means to codegen/explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/code.h"
#include "codegen/vector/program.h"

namespace cubejit {

/// One instruction of the machine.
struct MachineLine {
  std::int32_t offset = 0, size = 0;  ///< bytes
  std::string text;                   ///< Intel syntax
  std::int32_t target = -1;           ///< of a jump: the offset it goes to
};

/// What stands beside the instructions; all of it may be missing.
struct ListingNotes {
  const VectorProgram* program = nullptr;  ///< legalised, the one the code was emitted from
  std::vector<std::string> head;           ///< lines at the top
  std::vector<std::string> phrases;        ///< one an op of the program
};

struct Listing {
  std::string text;
  std::vector<std::pair<std::int32_t, std::int32_t>> lines;  ///< (code offset, line of `text` from 1), ascending
};

Listing layOut(const Code& code, const std::vector<MachineLine>& instructions, const ListingNotes& notes);

/// Half-open ranges of code offsets: the bodies of loops that hold no other jump, in the order of the code.
std::vector<std::pair<std::int32_t, std::int32_t>> innerLoops(const std::vector<MachineLine>& instructions);

}  // namespace cubejit
