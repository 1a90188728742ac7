// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whose threads run the slots. Leaves the default pool to arena.
#include "runtime/threads.h"

#include "runtime/arena.h"
#include "runtime/fork.h"

#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace cubejit {
namespace {

void runInTurn(int slots, void (*body)(void* context, int slot), void* context) {
  for (int slot = 0; slot < slots; ++slot) body(context, slot);
}

#if defined(__SANITIZE_THREAD__)
// oneTBB is not built with ThreadSanitizer, which then sees none of its ordering: plain threads take its place, so that
// everything else is checked.
void runInPool(bool, int slots, void (*body)(void* context, int slot), void* context) {
  std::vector<std::thread> team;
  for (int slot = 1; slot < slots; ++slot) team.emplace_back(body, context, slot);
  body(context, 0);
  for (std::thread& thread : team) thread.join();
}
#else
void runInPool(bool pin, int slots, void (*body)(void* context, int slot), void* context) {
  try {
    runInArena(pin, slots, body, context);
  } catch (...) {
    runInTurn(slots, body, context);  // no memory or threads left: the slots take what tasks remain
  }
}
#endif

}  // namespace

void runSlots(const ParallelFor& parallelFor, bool pin, int slots, void (*body)(void* context, int slot),
              void* context) {
  if (slots <= 1) {
    body(context, 0);
  } else if (parallelFor.run != nullptr) {
    parallelFor.run(parallelFor.user, slots, body, context);
  } else if (inForkedChild()) {
    runInTurn(slots, body, context);
  } else {
    runInPool(pin, slots, body, context);
  }
}

}  // namespace cubejit
