// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how loads from memory to L1 are lowered: to the kernels of a LoadShape, called run after run. Which load means what stays
// with unit_models; what is written here leaves the same bytes. Leaves making machine code of the kernels to the runtime.
#pragma once

#include "emulation/core_memory.h"
#include "emulation/kernel_set.h"
#include "emulation/load_shape.h"
#include "emulation/unit_code.h"
#include "emulation/unit_models.h"

namespace cubejit {

/// The kernels of one shape, ready to be called.
struct LoadCode {
  LoadShape shape;
  KernelSet kernels;
};

/// Precondition: `loads` is of the shape of the context's tables.
void execute(const UnitCode& code, const LoadCode& loads, const LoadImage& i, const UnitContext& c, CoreMemory& memory);
void execute(const UnitCode& code, const LoadCode& loads, const LoadPixels& i, const UnitContext& c,
             CoreMemory& memory);
void execute(const UnitCode& code, const LoadCode& loads, const LoadWeights& i, const UnitContext& c,
             CoreMemory& memory);

}  // namespace cubejit
