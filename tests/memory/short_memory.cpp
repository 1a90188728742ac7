// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which functions are replaced: all of glibc's that give memory. free() is glibc's own. Built into a test, and as a library that
// is preloaded into the command, whose main() then begins with what CUBEJIT_TEST_ALLOCATIONS grants;
// with CUBEJIT_TEST_SHORTAGE_PASSES a single allocation fails.
#include "tests/memory/short_memory.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>

namespace {

constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max() / 2;
std::atomic<std::int64_t> granted{kPlenty}, asked{0};
std::atomic<bool> passes{false};

bool gives() {
  if (granted.load(std::memory_order_relaxed) == kPlenty) return true;
  const std::int64_t before = asked.fetch_add(1, std::memory_order_relaxed),
                     most = granted.load(std::memory_order_relaxed);
  if (before < most || (before > most && passes.load(std::memory_order_relaxed))) return true;
  errno = ENOMEM;
  return false;
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t bytes);                     // NOLINT: glibc's names
void* __libc_calloc(std::size_t count, std::size_t bytes);  // NOLINT
void* __libc_realloc(void* old, std::size_t bytes);         // NOLINT
void* __libc_memalign(std::size_t to, std::size_t bytes);   // NOLINT

void* malloc(std::size_t bytes) { return gives() ? __libc_malloc(bytes) : nullptr; }
void* calloc(std::size_t count, std::size_t bytes) { return gives() ? __libc_calloc(count, bytes) : nullptr; }
void* realloc(void* old, std::size_t bytes) { return gives() ? __libc_realloc(old, bytes) : nullptr; }
void* memalign(std::size_t to, std::size_t bytes) { return gives() ? __libc_memalign(to, bytes) : nullptr; }
void* aligned_alloc(std::size_t to, std::size_t bytes) { return memalign(to, bytes); }
int posix_memalign(void** memory, std::size_t to, std::size_t bytes) {
  void* const made = memalign(to, bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

#ifdef CUBEJIT_PRELOADED
// What runs before main() is the C library's and the dynamic linker's.
static int (*realMain)(int, char**, char**) = nullptr;
static int shortMain(int count, char** words, char** environment) {
  const char* const text = std::getenv("CUBEJIT_TEST_ALLOCATIONS");
  passes = std::getenv("CUBEJIT_TEST_SHORTAGE_PASSES") != nullptr;
  if (text != nullptr) granted = std::atoll(text);
  return realMain(count, words, environment);
}
int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(), void (*done)(),
                      void (*linkerDone)(), void* stackEnd) {
  realMain = main;
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(shortMain, count, words, init, done, linkerDone, stackEnd);
}
#endif
}

namespace cubejit {

ShortMemory::ShortMemory(std::int64_t grant, Shortage shortage) {
  asked = 0;
  passes = shortage == Shortage::kPasses;
  granted = grant;
}
ShortMemory::~ShortMemory() { granted = kPlenty; }
std::int64_t allocationsAsked() { return asked; }

}  // namespace cubejit
