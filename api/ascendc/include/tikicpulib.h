// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the names of Ascend C's CPU debugging. Page "ICPU_RUN_KF" of its API, whose example calls GmAlloc; GmFree and SetKernelMode
// without a page at hand. C++17.
#pragma once

#include <cstddef>

#include "cubejit_ascendc/debug_run.h"
#include "kernel_operator.h"

enum class KernelMode { MIX_MODE, AIC_MODE };  // AIV_MODE, vector cores alone, is not emulated

namespace AscendC {

using ::KernelMode;
/// Cube cores run the kernel in either mode.
inline void SetKernelMode(KernelMode) {}

/// Not initialised, as on a device; null if there is none.
inline void* GmAlloc(std::size_t size) { return cubejit::ascendc::gmAlloc(size); }
inline void GmFree(void* memory) {
  if (!cubejit::ascendc::gmFree(memory)) cubejit::ascendc::setLastError("GmFree: GmAlloc did not give this memory");
}

}  // namespace AscendC

/// Runs func(...) on `blkdim` blocks and returns when all have ended. Arguments are pointers that GmAlloc gave, or null. Without a value: what
/// went wrong is printed on the standard error, and cubejit_last_error() returns it; "" if nothing did.
#define ICPU_RUN_KF(func, blkdim, ...)                                                                     \
  do {                                                                                                     \
    ::cubejit::ascendc::setLastError("");                                                                  \
    static_cast<void>(::cubejit::ascendc::runKernel("ICPU_RUN_KF(" #func ")", func, blkdim, __VA_ARGS__)); \
  } while (false)
