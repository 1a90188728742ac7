// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a test runs the bytes of one kernel: a page written first, then made executable, never both.
#pragma once

#include <sys/mman.h>

#include <cstring>

#include "codegen/code.h"
#include "cubejit/host_isa.h"
#include "cubejit/kernel_args.h"
#include "tests/support/amx_emulator.h"

namespace cubejit {

/// True if this CPU can run code for the level.
inline bool hostRuns(IsaLevel level) {
#if defined(__x86_64__)
  const bool tiles = isaOf(level).matrixUnit() != nullptr;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return level == IsaLevel::kAvx2     ? avx2
         : level == IsaLevel::kAvx512 ? avx512
         : level == IsaLevel::kAvx512Bf16 || tiles
             ? avx512 && __builtin_cpu_supports("avx512bf16") && (!tiles || tilesRun())
             : false;
#else
  return level == IsaLevel::kNeon;
#endif
}

/// False if the code could not be mapped.
inline bool runCode(const Code& code, const KernelArgs& args) {
  void* page = mmap(nullptr, code.bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  std::memcpy(page, code.bytes.data(), code.bytes.size());
  const bool executable = mprotect(page, code.bytes.size(), PROT_READ | PROT_EXEC) == 0;
  if (executable) reinterpret_cast<KernelFunction>(page)(&args);
  munmap(page, code.bytes.size());
  return executable;
}

}  // namespace cubejit
