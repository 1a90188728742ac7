// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when a VectorProgram is well formed, for every ISA level: what the interpreter and legalize may rely on.
// Leaves to legalize whether the ISA has the ops used, and to the caller that addresses are valid.
#pragma once

#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Checks operands against ops.def, register numbers against the ISA, constants, loops and definitions before use.
/// Definitions are followed in program order: a register set anywhere above counts as defined, also in a loop that may not run.
/// The error (kInternal, kVector) lists every violated rule with the instruction's index and text.
Status verify(const VectorProgram& program);

}  // namespace cubejit
