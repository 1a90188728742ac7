// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what kernels print: printf and DumpTensor write to the standard output of the process at once, one call's text in one piece;
// with ASCENDC_DUMP defined as 0 they write nothing. Pages "printf" and "DumpTensor" of the Ascend C API. C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include "cubejit/export.h"
#include "cubejit_ascendc/elements.h"
#include "cubejit_ascendc/global_tensor.h"

namespace cubejit::ascendc {

/// An argument of printf, whatever its type was: half and bfloat16_t are numbers like others.
struct TextArgument {
  std::int64_t whole = 0;
  std::uint64_t bits = 0;  ///< of `whole`, as many as its type has; of a pointer
  double real = 0;
  const char* text = nullptr;  ///< null: no text

  template <class T>
  static TextArgument of(const T& value) {
    TextArgument a;
    if constexpr (std::is_same_v<std::decay_t<T>, const char*> || std::is_same_v<std::decay_t<T>, char*>)
      a.text = value;
    if constexpr (std::is_pointer_v<std::decay_t<T>>) {
      const void* address = value;
      a.bits = reinterpret_cast<std::uintptr_t>(address);
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      a.whole = static_cast<std::int64_t>(value);
      a.bits = static_cast<std::uint64_t>(a.whole) & (UINT64_MAX >> (64 - 8 * sizeof(T)));
      a.real = static_cast<double>(value);
    } else {
      a.real = static_cast<double>(static_cast<float>(value));
      if constexpr (std::is_same_v<T, double>) a.real = value;
      constexpr double kMost = 9e18;
      a.whole = a.real > -kMost && a.real < kMost ? static_cast<std::int64_t>(a.real) : 0;
      a.bits = static_cast<std::uint64_t>(a.whole);
    }
    return a;
  }
};

/// `format` with each conversion replaced by its argument: d i u x X o c (any whole number, 64 bits, length letters do not matter), f F
/// e E g G, s, p, %%. What has no argument, or is no conversion, stays as it is.
CUBEJIT_API std::string textOf(const char* format, const TextArgument* arguments, std::size_t count);

#if defined(ASCENDC_DUMP) && ASCENDC_DUMP == 0
inline constexpr bool kKernelsPrint = false;
#else
inline constexpr bool kKernelsPrint = true;
#endif

template <class T>
const char* typeNameOf() {
  if constexpr (std::is_same_v<T, half>) return "float16";
  if constexpr (std::is_same_v<T, bfloat16_t>) return "bfloat16";
  if constexpr (std::is_same_v<T, float>) return "float32";
  constexpr const char* kWhole[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
  constexpr std::size_t kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return kWhole[std::is_signed_v<T> ? 1 : 0][kSize];
}

}  // namespace cubejit::ascendc

namespace AscendC {

template <class... Args>
__aicore__ inline void printf(__gm__ const char* fmt, Args&&... args) {
  using cubejit::ascendc::TextArgument;
  const TextArgument all[sizeof...(Args) + 1] = {TextArgument::of(args)...};
  if (cubejit::ascendc::kKernelsPrint) std::fputs(cubejit::ascendc::textOf(fmt, all, sizeof...(Args)).c_str(), stdout);
}
template <class... Args>
__aicore__ inline void PRINTF(__gm__ const char* fmt, Args&&... args) {
  printf(fmt, args...);
}

/// Prints `dumpSize` elements from where `tensor` begins, below a line with `desc`, which is the caller's to choose. Outside its memory
/// it is reported, and nothing is printed. LocalTensors: see pipe.h.
template <typename T>
__aicore__ inline void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize) {
  if (!cubejit::ascendc::kKernelsPrint ||
      !cubejit::ascendc::mayTouch(tensor.range(), 0, uint64_t{dumpSize} * sizeof(T), "DumpTensor"))
    return;
  char line[160];
  std::snprintf(line, sizeof(line), "DumpTensor: desc=%u, addr=%p, data_type=%s, position=GM, dump_size=%u\n[",
                static_cast<unsigned>(desc), static_cast<const void*>(tensor.GetPhyAddr()),
                cubejit::ascendc::typeNameOf<T>(), static_cast<unsigned>(dumpSize));
  std::string text = line;
  for (uint32_t i = 0; i < dumpSize; ++i) {
    if (i > 0) text += ", ";
    if constexpr (std::is_integral_v<T>)
      text += std::to_string(tensor.GetPhyAddr()[i]);
    else
      text += std::to_string(static_cast<float>(tensor.GetPhyAddr()[i]));
  }
  std::fputs((text + "]\n").c_str(), stdout);
}

}  // namespace AscendC
