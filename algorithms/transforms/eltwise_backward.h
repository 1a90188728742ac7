// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the program that backward passes of a convolution with an activation begin with: dy times the activation's slope, once for all.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// Every rule that its slope breaks for the problem, each with its values; fine if it has one that can be read off y where dy lies as y does.
Status slopeApplies(const Problem& problem);

/// Reads inputs `from`, which is dy, and `y`, and writes what backward passes read in the place of dy, in its format, to output `to`.
/// Precondition: slopeApplies().
TileProgram eltwiseBackwardProgram(const Problem& problem, int lanes);

}  // namespace cubejit
