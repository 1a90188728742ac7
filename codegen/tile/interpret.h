// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what tile instructions do, by doing it: the oracle of everything below the TileProgram.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/kernel_args.h"

namespace cubejit {

/// Runs one tile instruction on real memory, one f32 at a time, in the order of sums contract.h and moves.h state.
void interpret(const Kernel& kernel, const KernelArgs& args);

}  // namespace cubejit
