// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a caller says where a program's inputs and outputs lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// One address for each input and output, in the order of the program's buffers. Inputs are only read.
using CallerBuffers = std::vector<void*>;

/// Index of the input or output that the caller knows by this name; -1 if there is none.
inline int bufferNamed(const std::vector<Buffer>& buffers, std::string_view name) {
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].boundName() == name) return static_cast<int>(b);
  }
  return -1;
}

/// KernelArgs::residual where buffers begin at `bases`; 0 for programs that add none.
inline std::int64_t residualBytes(const Residual& residual, const std::vector<char*>& bases) {
  if (residual.addend < 0) return 0;
  const auto address = [&](int b) { return reinterpret_cast<std::intptr_t>(bases[static_cast<std::size_t>(b)]); };
  return static_cast<std::int64_t>(address(residual.addend) - address(residual.result));
}

}  // namespace cubejit
