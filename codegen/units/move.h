// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow move -> vector ops.
#pragma once

#include "codegen/tile/move.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

Result<VectorProgram> vectorizeMove(const Move& move, const HostIsa& isa);

}  // namespace cubejit
