// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel initialises global memory, under the names the function has had. Pages "InitGlobalMemory" and "Fill" of the
// Ascend C API; InitOutput, the oldest, without a page at hand. On the chip vector cores do it; here the core that calls it. C++17.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cubejit_ascendc/global_tensor.h"

namespace AscendC {

/// Sets `size` elements from where `gm` begins. Outside its memory it is reported, and nothing is written. Other cores see it
/// after SyncAll.
template <typename T>
__aicore__ inline void Fill(GlobalTensor<T>& gm, const uint64_t size, const T value) {
  constexpr uint64_t kMost = UINT64_MAX / sizeof(T);
  if (cubejit::ascendc::mayTouch(gm.range(), 0, std::min(size, kMost) * sizeof(T), "Fill"))
    std::fill_n(gm.GetPhyAddr(), size, value);
}
template <typename T>
__aicore__ inline void InitGlobalMemory(GlobalTensor<T>& gm, const uint64_t size, const T value) {
  Fill(gm, size, value);
}
template <typename T>
__aicore__ inline void InitOutput(GlobalTensor<T> gm, uint32_t size, T value = 0) {
  Fill(gm, size, value);
}

}  // namespace AscendC
