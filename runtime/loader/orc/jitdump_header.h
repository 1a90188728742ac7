// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is put right in the header of the jitdump that LLVM writes. Part of the LLVM component.
#pragma once

#include "cubejit/result.h"

namespace cubejit {

/// LLVM 19 leaves the flags of the header as its stack was, and perf refuses a file with flags it does not know. Clears them:
/// no flag is what LLVM means, its times are those of the monotonic clock. To be called once, when records were written.
Status clearJitDumpFlags();

}  // namespace cubejit
