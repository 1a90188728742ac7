// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which vector registers hold a value that is still needed after each instruction.
// Leaves to legalize what the others are used for.
#pragma once

#include <vector>

#include "codegen/vector/op_table.h"
#include "codegen/vector/program.h"

namespace cubejit {

/// Per instruction, the vector registers read later before they are written. Precondition: verify(program) is ok.
std::vector<VectorSet> liveAfter(const VectorProgram& program);

}  // namespace cubejit
