// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond the header.
#include "interrupts.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace cubejit::cli {
namespace {

// A handler can be given nothing but globals.
std::atomic<std::int64_t> firstAt{0};  ///< in ns; 0: there was none
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// `timeout` tells the process and its group, which is one wish told twice.
constexpr std::int64_t kOneWishNs = 100'000'000;

void onInterrupt(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t at = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + 1;
  std::int64_t first = 0;
  if (!firstAt.compare_exchange_strong(first, at) && at - first > kOneWishNs) _exit(130);
}

}  // namespace

void listenForInterrupts() {
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
}

bool stopRequested() { return firstAt.load() > 0; }

}  // namespace cubejit::cli
