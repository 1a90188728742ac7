// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a test runs the bytes of one kernel: a page written first, then made executable, never both.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "codegen/code.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/kernel_args.h"

namespace cubejit {

/// True if this CPU can run code for the level.
inline bool hostRuns(IsaLevel level) {
  const std::vector<IsaLevel> levels = runnableIsas();
  return std::find(levels.begin(), levels.end(), level) != levels.end();
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
