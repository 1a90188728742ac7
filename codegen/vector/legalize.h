// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what becomes of ops the ISA lacks: they are rewritten into ops it has, within the VectorProgram.
// Leaves spelling to the backends, which accept legal programs only.
#pragma once

#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// An equivalent program that uses only what program.isa offers; legal programs come back unchanged.
/// Scratch registers are those dead at the instruction; kLimitExceeded says how many are missing.
Result<VectorProgram> legalize(const VectorProgram& program);

/// What every backend asks first: verified, and every instruction legal for its ISA. The error names those that are not.
Status checkLegal(const VectorProgram& program);

/// True if the ISA has the op in the form used.
bool isLegal(const VInstr& instr, const HostIsa& isa);

/// Vector registers that rewriting the instruction takes beside those it may overwrite, its mask's vector included; 0 if legal.
int scratchRegisters(const VInstr& instr, const HostIsa& isa);

}  // namespace cubejit
