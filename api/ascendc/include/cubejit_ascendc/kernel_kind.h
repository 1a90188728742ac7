// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which of a chip's cores run a kernel here: its cube cores alone. Page "Setting the Kernel Type" of the Ascend C API. C++17.
#pragma once

#include "cubejit/export.h"

/// What a kernel says it runs on, in the order of the page's table.
enum KernelMetaType {
  KERNEL_TYPE_AIV_ONLY,
  KERNEL_TYPE_AIC_ONLY,
  KERNEL_TYPE_MIX_AIV_1_0,
  KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1,
  KERNEL_TYPE_MIX_AIC_1_2,
  KERNEL_TYPE_AICORE,
  KERNEL_TYPE_VECTORCORE,
  KERNEL_TYPE_MIX_AICORE,
  KERNEL_TYPE_MIX_VECTOR_CORE,
  KERNEL_TYPE_MAX
};

namespace cubejit::ascendc {

constexpr bool runsOnCubeCores(KernelMetaType type) {
  return type == KERNEL_TYPE_AIC_ONLY || type == KERNEL_TYPE_MIX_AIC_1_0 || type == KERNEL_TYPE_MIX_AIC_1_1 ||
         type == KERNEL_TYPE_MIX_AIC_1_2 || type == KERNEL_TYPE_AICORE || type == KERNEL_TYPE_MIX_AICORE;
}

/// False; the report's notes say that vector cores' code was left out.
CUBEJIT_API bool onVectorCore() noexcept;

}  // namespace cubejit::ascendc

/// Checks the type and does nothing else: cube cores run the kernel. Types without a cube core do not compile.
#define KERNEL_TASK_TYPE_DEFAULT(value)           \
  static_assert(                                  \
      ::cubejit::ascendc::runsOnCubeCores(value), \
      "KERNEL_TASK_TYPE_DEFAULT: " #value         \
      " starts no cube core, and only those are emulated; KERNEL_TYPE_AIC_ONLY and KERNEL_TYPE_MIX_AIC_* start them")
/// The same, whatever the tiling key.
#define KERNEL_TASK_TYPE(key, value) KERNEL_TASK_TYPE_DEFAULT(value)

/// Which core runs the code; no page was at hand, the names are those that kernels use, as in `if ASCEND_IS_AIC { }` and `if (ASCEND_IS_AIC) { }`. A block is one run on a cube core.
#define ASCEND_IS_AIC (true)
#define ASCEND_IS_AIV (::cubejit::ascendc::onVectorCore())
