// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a whole TileProgram computes, by computing it: one thread, in order, a scalar at a time.
// Leaves single tile instructions to tile/interpret.
#pragma once

#include <cstdint>
#include <functional>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// A call that was interpreted, and where its results begin.
struct InterpretedCall {
  const Phase& phase;
  const Call& call;
  std::int64_t task = 0;
  int buffer = -1;             ///< that it wrote
  std::int64_t offset = 0;     ///< bytes
  const char* base = nullptr;  ///< of the buffer: all that it holds now
};
/// Told of each call; false ends the interpretation there.
using InterpretedHook = std::function<bool(const InterpretedCall&)>;

/// Verifies the program, then runs it on the caller's buffers. Workspace is its own and starts as NaN, private buffers again
/// with every task, so that a result that depends on memory nobody wrote is a NaN.
/// Fails with Stage::kTile if the program is not sound, Stage::kRun if an address is missing.
Status interpret(const TileProgram& program, const CallerBuffers& callers, const InterpretedHook& hook = {});

}  // namespace cubejit
