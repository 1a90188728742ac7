// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how emitted bytes are read back as instructions. Part of the component that links LLVM.
#pragma once

#include <string>
#include <vector>

#include "codegen/code.h"
#include "codegen/listing.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// The instructions of `code`, those of x86-64 in Intel syntax. Fails with kInternal at the first byte that is no instruction.
Result<std::vector<MachineLine>> decode(const Code& code);

/// A listing; `program` is the legalised program the code was emitted from, or null for a plain one.
Result<std::string> disassemble(const Code& code, const VectorProgram* program);

}  // namespace cubejit
