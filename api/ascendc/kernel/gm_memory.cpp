// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is remembered of memory that GmAlloc gave: its size. See the header.
#include "cubejit_ascendc/debug_run.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace cubejit::ascendc {
namespace {

constexpr std::size_t kAlignment = 512;

struct Given {
  std::mutex mutex;
  std::unordered_map<const void*, std::size_t> bytes;
};
Given& given() {
  static auto* const one = new Given;  // destructors of the program may still free
  return *one;
}

}  // namespace

void* gmAlloc(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - kAlignment) return nullptr;
  void* const memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0xff, bytes);  // NaN in every type, so that what nobody wrote is seen
  try {
    const std::lock_guard<std::mutex> lock(given().mutex);
    given().bytes[memory] = bytes;
  } catch (...) {  // no memory to remember it
    std::free(memory);
    return nullptr;
  }
  return memory;
}

bool gmFree(const void* memory) noexcept {
  if (memory == nullptr) return true;
  {
    const std::lock_guard<std::mutex> lock(given().mutex);
    if (given().bytes.erase(memory) == 0) return false;
  }
  std::free(const_cast<void*>(memory));
  return true;
}

std::int64_t gmBytes(const void* memory) noexcept {
  const std::lock_guard<std::mutex> lock(given().mutex);
  const auto found = given().bytes.find(memory);
  return found == given().bytes.end() ? -1 : static_cast<std::int64_t>(found->second);
}

}  // namespace cubejit::ascendc
