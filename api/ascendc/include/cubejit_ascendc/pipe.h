// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which part of the memory and queue objects of Ascend C kernels there is: a kernel of the convolution classes may have a
// TPipe, and declare queues it does not use. Those classes manage their buffers themselves; local tensors of a kernel's own need a
// vector unit's instructions, which are not emulated, and do not compile. The compiler's first error says so: functions return auto, whose bodies
// it looks at where they are called, not at the end. Pages "TPipe" of the Ascend C API (its
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
  auto AllocTensor() {
    CUBEJIT_NOT_EMULATED("TQue::AllocTensor");
  }
  template <class... Named, class... Any>
  auto EnQue(Any&&...) {
    CUBEJIT_NOT_EMULATED("TQue::EnQue");
  }
  template <class... Any>
  auto DeQue() {
    CUBEJIT_NOT_EMULATED("TQue::DeQue");
  }
  template <class... Named, class... Any>
  auto FreeTensor(Any&&...) {
    CUBEJIT_NOT_EMULATED("TQue::FreeTensor");
  }
};

/// A queue between two positions that may be declared.
template <TPosition from, TPosition to, int32_t depth, auto... mask>
class TQueBind : public TQue<to, depth, mask...> {};

/// A buffer that may be declared.
template <TPosition position = TPosition::LCM>
class TBuf {
 public:
  template <class... Named, class... Any>
  auto Get(Any&&...) {
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
  template <class... Named, class... Any>
  auto InitBuffer(Any&&...) {
    CUBEJIT_NOT_EMULATED("TPipe::InitBuffer");
  }
};

#define CUBEJIT_VECTOR_FUNCTION(name)     \
  template <class... Named, class... Any> \
  auto name(Any&&...) {                   \
    CUBEJIT_NOT_EMULATED(#name);          \
  }
CUBEJIT_VECTOR_FUNCTION(DataCopy)
CUBEJIT_VECTOR_FUNCTION(DataCopyPad)
CUBEJIT_VECTOR_FUNCTION(Duplicate)
CUBEJIT_VECTOR_FUNCTION(Add)
CUBEJIT_VECTOR_FUNCTION(Adds)
CUBEJIT_VECTOR_FUNCTION(Sub)
CUBEJIT_VECTOR_FUNCTION(Mul)
CUBEJIT_VECTOR_FUNCTION(Muls)
#undef CUBEJIT_VECTOR_FUNCTION

}  // namespace AscendC

#undef CUBEJIT_NOT_EMULATED
