// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the environment may say to launches of kernels. Leaves what follows from it to the launcher.
#pragma once

#include "cubejit/result.h"
#include "cubejit/timeline.h"

namespace cubejit {

struct LaunchEnvironment {
  TimelineFiles files;  ///< CUBEJIT_LAUNCH_TRACE, CUBEJIT_LAUNCH_TIMELINE
  bool fast = false;    ///< CUBEJIT_LAUNCH_FAST
};

/// Errors: a flag that is neither 0 nor 1. Ignored in processes that run with more rights than their caller.
Result<LaunchEnvironment> launchEnvironment();

}  // namespace cubejit
