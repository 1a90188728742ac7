// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how perf learns the names of kernels without debug information: a line each in /tmp/perf-PID.map.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cubejit/result.h"

namespace cubejit {

struct NamedCode {
  std::string symbol;
  const void* address = nullptr;
  std::size_t bytes = 0;
};

/// Appends to the file of this process, which perf looks for in /tmp and nowhere else. kIo if it cannot be written.
Status writePerfMap(const std::vector<NamedCode>& codes);

}  // namespace cubejit
