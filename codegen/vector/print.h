// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text of a VectorProgram: stable, one instruction a line, for people, goldens and error messages.
#pragma once

#include <string>

#include "codegen/vector/program.h"

namespace cubejit {

/// Version, header, constants, then the code; loops are indented and comments stand before their instruction. Programs that verify() accepts
/// are read back by parseVectorProgram() as they are.
std::string print(const VectorProgram& program);

/// One instruction, e.g. `fma v3 {k1}, v24, v28` or `load v0, [s1 + 64]`. Any field values may be printed.
std::string print(const VInstr& instr);

}  // namespace cubejit
