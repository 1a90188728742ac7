// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the faces of the LLVM backend: a VectorProgram in, an ELF object or the IR's text out. Pure functions.
// Leaves loading the object to runtime/loader/orc.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/code.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

enum class IrStage : std::uint8_t { kBuilt, kOptimised };

/// Compiles a legalised program for program.isa: an ELF object whose only function is program.name.
/// Deterministic: same program, same LLVM, same bytes. Bit-identical to the interpreter when run. Thread-safe.
Result<Code> emitLlvm(const VectorProgram& program);

/// The IR as built, or as optimised before code generation, with the program's instructions above what they became.
Result<std::string> llvmText(const VectorProgram& program, IrStage stage);

}  // namespace cubejit
