// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a block is written in the ways that the core's units do not have: added in 16 bits, by itself, or without the products
// of different groups. Leaves the usual way to the units.
#pragma once

#include "api/ascendc/kernel/group_mask.h"
#include "api/ascendc/kernel/placement.h"
#include "runtime/cores/kernel_core.h"

namespace cubejit::ascendc {

/// Writes the core's block to `output`, in `type`, rounded to nearest even; `add` adds to what is there. What `mask` does not keep is 0.
/// Preconditions: the placement lies in memory; who adds is alone (KernelCore::addAlone).
void storeSums(const KernelCore& core, const Placement& place, const GroupMask& mask, DType type, bool add,
               void* output);

}  // namespace cubejit::ascendc
