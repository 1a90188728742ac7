// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the log says about a compilation: the plan and what it was chosen over, the ISA and backend and why, the times.
#pragma once

#include "cubejit/cubejit.hpp"
#include "runtime/pipeline/compile.h"

namespace cubejit {

/// Logs topics plan, dispatch and profile of an executable that has just been made; its parts know where
/// their plans came from. Planning is done once more to tell what a
/// plan was chosen over, only if that is asked for.
void reportCompiled(const Executable::State& state, const Machine& machine);

/// Logs topic profile of a run that took `nanoseconds`.
void reportRun(const Executable::State& state, std::int64_t nanoseconds, int threads);

/// What events call an executable: the program of its first pass.
std::string programOf(const Executable::State& state);

}  // namespace cubejit
