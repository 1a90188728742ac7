// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests compute a pass by the models of a chip's units, one instruction after the other: what generated programs are compared
// with.
#pragma once

#include "cubejit/emulation.h"

namespace cubejit {

/// Plans as Emulation does and computes the pass. Errors: those of Emulation::create(), of units, and null results.
Status runUnits(const EmulationRequest& request, const Tensors& tensors);

}  // namespace cubejit
