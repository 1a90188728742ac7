// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which rounding a program gets: where the ISA converts to bf16 in one instruction, that instruction's.
// Leaves what the two roundings are to tile/element.h.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/host_isa.h"

namespace cubejit {

/// Everything that is written as bf16 is written as the ISA does it. A rewrite of a finished program; elements that are only
/// moved keep every bit.
void useIsaRounding(TileProgram& program, const HostIsa& isa);

}  // namespace cubejit
