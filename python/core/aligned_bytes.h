// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how memory for results and workspaces is taken.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace cubejit::python {

/// At least so many bytes, in whole units of `align`, not initialised; std::free() gives them back. Throws std::bad_alloc.
inline std::byte* alignedBytes(std::size_t bytes, std::size_t align) {
  constexpr std::size_t kMost = std::size_t{1} << 47;
  if (bytes > kMost) throw std::bad_alloc();
  void* memory = std::aligned_alloc(align, bytes == 0 ? align : (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

}  // namespace cubejit::python
