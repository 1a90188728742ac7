// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how large the reserve is, and that it is whole again when all that was taken from it has been given back.
#include "runtime/text/json_value.h"

#include <cstdlib>
#include <mutex>
#include <new>

namespace cubejit {
namespace {

// Pages that nobody touches take no memory. A value of 100,000 elements is taken apart with 3 MB.
constexpr std::size_t kReserve = std::size_t{8} << 20;

struct Reserve {
  std::mutex mutex;
  std::size_t used = 0, live = 0;
  alignas(std::max_align_t) unsigned char bytes[kReserve];

  bool has(const void* memory) const { return memory >= bytes && memory < bytes + kReserve; }
};
Reserve reserve;

}  // namespace

void* jsonMemory(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  const std::size_t whole = (bytes + alignof(std::max_align_t)) / alignof(std::max_align_t) * alignof(std::max_align_t);
  const std::lock_guard<std::mutex> lock(reserve.mutex);
  if (whole < bytes || whole > kReserve - reserve.used) throw std::bad_alloc();
  void* const memory = reserve.bytes + reserve.used;
  reserve.used += whole;
  ++reserve.live;
  return memory;
}

void freeJsonMemory(void* memory) noexcept {
  if (!reserve.has(memory)) return std::free(memory);
  const std::lock_guard<std::mutex> lock(reserve.mutex);
  if (--reserve.live == 0) reserve.used = 0;
}

}  // namespace cubejit
