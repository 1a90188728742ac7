// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the tools allocate: aligned to 64 bytes, null instead of an exception when there is no memory.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace cubejit::cli {

class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t bytes) : data_(std::aligned_alloc(64, bytes / 64 * 64 + 64)) {}
  ~AlignedMemory() { std::free(data_); }
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;
  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  void* data_;
};

}  // namespace cubejit::cli
