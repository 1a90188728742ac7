// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how memory on lines of its own is taken and given back.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace cubejit {

struct FreeMemory {
  void operator()(char* p) const { std::free(p); }
};
using AlignedMemory = std::unique_ptr<char, FreeMemory>;

/// At least so many bytes, at a multiple of 64; null without memory.
inline AlignedMemory alignedMemory(std::size_t bytes) {
  return AlignedMemory(static_cast<char*>(std::aligned_alloc(64, (bytes / 64 + 1) * 64)));
}

}  // namespace cubejit
