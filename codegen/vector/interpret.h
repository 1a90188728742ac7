// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a VectorProgram means: each op of ops.def executed on real memory, lane by lane. The oracle of the backends.
// Leaves to the caller that every address the program forms is valid, as for compiled code.
#pragma once

#include "codegen/vector/program.h"
#include "cubejit/kernel_args.h"
#include "cubejit/result.h"

namespace cubejit {

/// Verifies, then runs, legalised or not. Bit-identical to compiled code, except for the signs and payloads of NaNs.
/// Fails with Stage::kVector for a malformed program, Stage::kRun for a streaming store to an unaligned address.
Status interpret(const VectorProgram& program, const KernelArgs& args);

}  // namespace cubejit
