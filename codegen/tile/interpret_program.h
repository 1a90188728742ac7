// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a whole TileProgram computes, by computing it: one thread, in order, a scalar at a time.
// Leaves single tile instructions to tile/interpret.
#pragma once

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Verifies the program, then runs it on the caller's buffers. Workspace is its own and starts as NaN, private buffers again
/// with every task, so that a result that depends on memory nobody wrote is a NaN.
/// Fails with Stage::kTile if the program is not sound, Stage::kRun if an address is missing.
Status interpret(const TileProgram& program, const CallerBuffers& callers);

}  // namespace cubejit
