// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the only door to a code emitter: a pure function from a legal VectorProgram to bytes.
#pragma once

#include "codegen/code.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Spells a legalised, verified program as machine code for program.isa. Deterministic: same program, same bytes.
Result<Code> emitXbyak(const VectorProgram& program);

}  // namespace cubejit
