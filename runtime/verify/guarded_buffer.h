// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how over-reads and over-writes of generated code are caught: operands end at an unreadable page and cannot be written, what lies
// before a result on its page has a pattern.
#pragma once

#include <cstddef>

namespace cubejit {

/// Memory for `bytes` whose end touches a PROT_NONE page (and, before its first page, another). Any access beyond the end traps.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  /// Null if the system refused the memory.
  float* data() const { return data_; }

  /// From now on whoever writes it traps. False if the system refused.
  bool seal();
  /// Whether the bytes before data(), as far as they can be written, are as they were.
  bool untouchedBefore() const;

 private:
  void* base_ = nullptr;
  std::size_t mapped_ = 0, before_ = 0;
  float* data_ = nullptr;
};

}  // namespace cubejit
