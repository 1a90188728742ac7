// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond the header.
#include "interrupts.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace cubejit::cli {
namespace {

// A handler can be given nothing but globals.
std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free);
void onInterrupt(int) {
  if (interrupts.fetch_add(1) > 0) _exit(130);
}

}  // namespace

void listenForInterrupts() {
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
}

bool stopRequested() { return interrupts.load() > 0; }

}  // namespace cubejit::cli
