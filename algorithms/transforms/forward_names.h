// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a program of the adjoint's dx is told as one of y: the tensors that its buffers are, and every name.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/problem.h"

namespace cubejit {

/// The same program, which reads x and w and writes y of `problem`, the convolution that was asked for.
TileProgram inForwardNames(TileProgram program, const Problem& problem);

}  // namespace cubejit
