// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which host threads emulated cores run on: one each, named after it, for debuggers and profilers to show. Leaves what a
// core does to its caller.
#pragma once

#include "runtime/cores/core_barrier.h"

namespace cubejit {

/// body(context, core) for core in [0, cores), each on a thread named "core N"; returns when all are done. At most `atOnce` of them
/// run at a time, and they begin in order, so 1 runs one after the other. All have the floating-point environment of the calling thread's
/// call (float_mode.h). A core whose thread cannot be made runs on the calling
/// thread. Cores leave `barrier`, if there is one, when they end; where they cannot all run at once it refuses. `body` must not throw.
void runCoreThreads(int cores, int atOnce, void (*body)(void* context, int core), void* context,
                    CoreBarrier* barrier = nullptr);

}  // namespace cubejit
