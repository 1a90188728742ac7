// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which part of the memory and queue objects of Ascend C kernels there is: a kernel of the convolution classes may have a
// TPipe, and declare queues it does not use. Those classes manage their buffers themselves; local tensors of a kernel's own need a
// vector unit's instructions, which are not emulated, and do not compile. Pages "TPipe" of the Ascend C API (its
// constructor, Init, Reset, Destroy), whose examples declare TQue. C++17.
#pragma once

#include <cstdint>

#include "cubejit_ascendc/names.h"
#include "cubejit_ascendc/qualifiers.h"

#define CUBEJIT_NOT_EMULATED(name)                                                                       \
  static_assert(::cubejit::ascendc::kNever<Any...>, name                                                 \
                ": local tensors of a kernel's own are not emulated, only what Conv3DBackpropInput and " \
                "Conv3DBackpropFilter do; read and write GlobalTensors by GetValue, SetValue and Fill")

namespace cubejit::ascendc {
template <class...>
inline constexpr bool kNever = false;
}  // namespace cubejit::ascendc

namespace AscendC {

template <class... Any>
class LocalTensor {
  CUBEJIT_NOT_EMULATED("LocalTensor");
};

/// A queue that may be declared.
template <TPosition position, int32_t depth, auto... mask>
class TQue {
 public:
  template <class... Any>
  void AllocTensor() {
    CUBEJIT_NOT_EMULATED("TQue::AllocTensor");
  }
  template <class... Any>
  void EnQue(Any&&...) {
    CUBEJIT_NOT_EMULATED("TQue::EnQue");
  }
  template <class... Any>
  void DeQue() {
    CUBEJIT_NOT_EMULATED("TQue::DeQue");
  }
  template <class... Any>
  void FreeTensor(Any&&...) {
    CUBEJIT_NOT_EMULATED("TQue::FreeTensor");
  }
};

/// A buffer that may be declared.
template <TPosition position = TPosition::LCM>
class TBuf {
 public:
  template <class... Any>
  void Get(Any&&...) {
    CUBEJIT_NOT_EMULATED("TBuf::Get");
  }
};

/// Holds nothing: Init, Reset and Destroy may be called at any time.
class TPipe {
 public:
  TPipe() = default;
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;
  __aicore__ inline void Init() {}
  __aicore__ inline void Reset() {}
  __aicore__ inline void Destroy() {}
  template <class... Any>
  void InitBuffer(Any&&...) {
    CUBEJIT_NOT_EMULATED("TPipe::InitBuffer");
  }
};

}  // namespace AscendC

#undef CUBEJIT_NOT_EMULATED
