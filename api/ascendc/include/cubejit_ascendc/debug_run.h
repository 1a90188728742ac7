// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel is run by the CPU debugging names of Ascend C: a launch (launch.h) on the chip of CUBEJIT_SOC, or an ascend910b2,
// with memory that GmAlloc gave as its arguments. C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "cubejit/export.h"
#include "cubejit_ascendc/last_error.h"
#include "cubejit_ascendc/launch.h"

namespace cubejit::ascendc {

/// Memory of at least `bytes` bytes, not initialised, at a multiple of 512; null if there is none. Thread-safe, as the other two.
CUBEJIT_API void* gmAlloc(std::size_t bytes) noexcept;
/// Null is allowed. False: gmAlloc did not give it, and nothing was freed.
CUBEJIT_API bool gmFree(const void* memory) noexcept;
/// What gmAlloc was asked for; -1: it did not give this.
CUBEJIT_API std::int64_t gmBytes(const void* memory) noexcept;

/// What ICPU_RUN_KF does.
template <class Kernel, class... Arguments>
bool runKernel(const char* name, const Kernel& kernel, std::int64_t blocks, const Arguments&... arguments) {
  std::vector<GlobalMemory> memory;
  std::string broken;
  std::size_t index = 0;
  const auto collect = [&](auto pointer) {
    static_assert(std::is_pointer_v<decltype(pointer)>, "ICPU_RUN_KF: arguments are pointers that GmAlloc gave");
    const std::string place = "\n" + std::string(name) + ": argument " + std::to_string(++index);
    const std::int64_t bytes = gmBytes(pointer);
    if (bytes >= 0)
      memory.push_back({const_cast<void*>(static_cast<const void*>(pointer)), static_cast<std::size_t>(bytes)});
    else if (pointer != nullptr)
      broken += place + " is no memory of GmAlloc, which all arguments must be; allocate it there and copy";
  };
  (collect(arguments), ...);
  if (blocks < 1) broken += "\n" + std::string(name) + ": blkdim = " + std::to_string(blocks) + " must be at least 1";
  if (broken.empty()) {
    LaunchOptions options;
    options.blocks = blocks;
    const auto report = runOnCores(options, memory, [&] { kernel(arguments...); });
    if (report.ok()) return true;
    broken = "\n" + report.error().message;
  }
  setLastError(broken.substr(1));
  std::fprintf(stderr, "%s\n", broken.c_str() + 1);
  return false;
}

}  // namespace cubejit::ascendc
