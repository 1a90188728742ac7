// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the mapping of guarded buffers.
#include "runtime/verify/guarded_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace cubejit {
namespace {

constexpr std::size_t kGuardPage = 4096;
constexpr int kPattern = 0x5a;

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t bytes) {
  const std::size_t payload = (bytes + kGuardPage - 1) / kGuardPage * kGuardPage;
  mapped_ = payload + 2 * kGuardPage;
  void* base = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return;
  base_ = base;
  char* first = static_cast<char*>(base) + kGuardPage;
  if (payload > 0 && mprotect(first, payload, PROT_READ | PROT_WRITE) != 0) return;
  before_ = payload - bytes;
  std::memset(first, kPattern, before_);
  data_ = reinterpret_cast<float*>(first + before_);
}

bool GuardedBuffer::seal() {
  const std::size_t payload = mapped_ - 2 * kGuardPage;
  return payload == 0 || mprotect(static_cast<char*>(base_) + kGuardPage, payload, PROT_READ) == 0;
}

bool GuardedBuffer::untouchedBefore() const {
  const char* const first = reinterpret_cast<const char*>(data_) - before_;
  return std::all_of(first, first + before_, [](char c) { return c == kPattern; });
}

GuardedBuffer::~GuardedBuffer() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

}  // namespace cubejit
