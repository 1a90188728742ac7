// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow TileProgram kernel -> VectorProgram: each tile instruction is lowered once, for every ISA.
#pragma once

#include "codegen/tile/program.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Lowers one kernel of a TileProgram. The result is verified but not yet legalised for ISAs that lack ops it uses
/// (see vector/legalize.h). Fails with kLimitExceeded if the kernel needs more registers than the ISA has.
Result<VectorProgram> vectorize(const Kernel& kernel, const HostIsa& isa);

}  // namespace cubejit
