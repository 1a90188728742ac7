// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the annotated listing of emitted code: offsets, bytes and Intel syntax beside the VectorProgram they came from.
#pragma once

#include <string>

#include "codegen/code.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// `program` is the legalised program the code was emitted from, or null for a plain listing. Part of the target
/// cubejit_disassemble, so that only tools link LLVM. Fails with kInternal at the first byte that is no instruction.
Result<std::string> disassemble(const Code& code, const VectorProgram* program);

}  // namespace cubejit
