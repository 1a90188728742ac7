// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a core's buffers are on the host: one block of memory each, of the chip's size, that nothing may leave.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "cubejit/core_counts.h"
#include "cubejit/machine.h"

namespace cubejit {

/// A fractal: rows, bytes of one (a run of c0 elements), bytes of all.
inline constexpr std::int64_t kFractalRows = 16, kRun = 32, kFractalBytes = kFractalRows * kRun;

class CoreMemory {
 public:
  explicit CoreMemory(const Buffers& sizes)
      : bytes_{sizes.l1Bytes, sizes.l0aBytes, sizes.l0bBytes, sizes.l0cBytes, sizes.ubBytes} {
    for (std::size_t i = 0; i < kCoreBuffers; ++i) {
      constexpr std::size_t kLine = 64;
      const std::size_t whole = (static_cast<std::size_t>(bytes_[i]) + kLine - 1) / kLine * kLine;
      memory_[i].reset(static_cast<std::byte*>(std::aligned_alloc(kLine, whole + kLine)));
    }
  }

  bool complete() const {
    for (const auto& m : memory_) {
      if (m == nullptr) return false;
    }
    return true;
  }
  std::int64_t bytes(CoreBuffer b) const { return bytes_[static_cast<std::size_t>(b)]; }
  std::byte* at(CoreBuffer b, std::int64_t offset = 0) { return memory_[static_cast<std::size_t>(b)].get() + offset; }
  const std::byte* at(CoreBuffer b, std::int64_t offset = 0) const {
    return memory_[static_cast<std::size_t>(b)].get() + offset;
  }
  float* l0c(std::int64_t offset = 0) { return reinterpret_cast<float*>(at(CoreBuffer::kL0c, offset)); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::array<std::int64_t, kCoreBuffers> bytes_;
  std::array<std::unique_ptr<std::byte, Free>, kCoreBuffers> memory_;
};

}  // namespace cubejit
