// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how runs use the threads of an OpenMP runtime that is in the process already, PyTorch's: threads of two pools would fight for the
// cores, for OpenMP's wait busily.
#pragma once

#include "cubejit/options.h"

namespace cubejit::python {

/// Runs on the team of the process's OpenMP runtime (GNU's, or LLVM's and Intel's, which have the same entry); `run` is null if none is
/// loaded. A forked child, whose team is gone, runs on one thread.
ParallelFor openmpThreads();

}  // namespace cubejit::python
