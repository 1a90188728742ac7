// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the log says about a compilation: the plan and what it was chosen over, the ISA and backend and why, the times; and what caches did.
#pragma once

#include <string>
#include <utility>

#include "cubejit/cubejit.hpp"
#include "runtime/diagnose/verbose.h"
#include "runtime/pipeline/compile.h"
#include "runtime/pipeline/generated_cache.h"

namespace cubejit {

/// Logs topics plan, dispatch and profile of an executable that has just been made; its parts know where
/// their plans came from. Planning is done once more to tell what a
/// plan was chosen over, only if that is asked for.
void reportCompiled(const Executable::State& state, const Machine& machine);

/// Logs topic profile of a run that took `nanoseconds`.
void reportRun(const Executable::State& state, std::int64_t nanoseconds, int threads);

/// Logs topic cache: what became of a look-up of the program; `what` tells its entries apart.
void reportLookUp(const Diagnostics& diagnostics, const CacheLookUp& lookUp, const std::string& program,
                  const std::pair<const char*, EventValue>& what);

/// What events call an executable: the program of its first pass.
std::string programOf(const Executable::State& state);

}  // namespace cubejit
