// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which buffer of a program is a tensor, and how far z lies from y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// Index of the first buffer of the role; -1 if there is none.
inline int bufferOf(const std::vector<Buffer>& buffers, BufferRole role) {
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].role == role) return static_cast<int>(b);
  }
  return -1;
}

/// KernelArgs::residual where buffers begin at `bases`; 0 for programs that add no z.
inline std::int64_t residualOf(const std::vector<Buffer>& buffers, const std::vector<char*>& bases) {
  const int y = bufferOf(buffers, BufferRole::kY), z = bufferOf(buffers, BufferRole::kZ);
  if (y < 0 || z < 0) return 0;
  const auto address = [&](int b) { return reinterpret_cast<std::intptr_t>(bases[static_cast<std::size_t>(b)]); };
  return static_cast<std::int64_t>(address(z) - address(y));
}

}  // namespace cubejit
