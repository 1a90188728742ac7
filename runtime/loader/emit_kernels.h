// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which thread makes which kernel's code: a backend that is slow shares kernels among the session's threads.
#pragma once

#include <vector>

#include "runtime/loader/backends.h"

namespace cubejit {

/// The code of each program, in their order, whatever the number of threads; none if the backend interprets. Of several
/// failures the first program's is returned.
Result<std::vector<Code>> emitKernels(const std::vector<VectorProgram>& programs, const CodeBackend& backend,
                                      const Options& options);

}  // namespace cubejit
