// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where memory lies that may be touched to the byte: at the end, or at the beginning, of pages between unreadable ones.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace cubejit {

enum class Fence : std::uint8_t { kBefore, kBehind };  ///< which side has no spare byte

class FencedMemory {
 public:
  FencedMemory(std::int64_t bytes, Fence fence) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), used = static_cast<std::size_t>(bytes);
    const std::size_t inside = (used + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    base_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (inside > 0) mprotect(base_ + page, inside, PROT_READ | PROT_WRITE);
    data_ = base_ + page + (fence == Fence::kBefore ? 0 : inside - used);
  }
  ~FencedMemory() { munmap(base_, mapped_); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  char* data() const { return data_; }

 private:
  char* base_ = nullptr;
  char* data_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace cubejit
