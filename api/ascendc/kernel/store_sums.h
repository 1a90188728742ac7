// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a block is written in the ways that the documentation keeps reserved: added in 16 bits, or by itself. Leaves the
// usual way to the core's own units.
#pragma once

#include "api/ascendc/kernel/placement.h"
#include "emulation/cube_core.h"

namespace cubejit::ascendc {

/// Writes the core's block to `output`, in `type`, rounded to nearest even; `add` adds to what is there, element by element, safe
/// from several threads. Precondition: the placement lies in memory.
void storeSums(const CubeCore& core, const Placement& place, DType type, bool add, void* output);

}  // namespace cubejit::ascendc
