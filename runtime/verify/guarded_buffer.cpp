// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the mapping of guarded buffers.
#include "runtime/verify/guarded_buffer.h"

#include <sys/mman.h>

namespace cubejit {

GuardedBuffer::GuardedBuffer(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t payload = (bytes + kPage - 1) / kPage * kPage;
  mapped_ = payload + 2 * kPage;
  void* base = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return;
  base_ = base;
  char* first = static_cast<char*>(base) + kPage;
  if (payload > 0 && mprotect(first, payload, PROT_READ | PROT_WRITE) != 0) return;
  data_ = reinterpret_cast<float*>(first + (payload - bytes));
}

GuardedBuffer::~GuardedBuffer() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

}  // namespace cubejit
