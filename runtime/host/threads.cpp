// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whose threads run the slots. Leaves the default pool to arena.
#include "runtime/host/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "cubejit/cubejit.hpp"
#include "cubejit/float_mode.h"
#include "runtime/host/arena.h"
#include "runtime/host/fork.h"
#include "tiling/whole_number.h"

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

// A body that fails holds a task that nobody else will do: what it threw is kept from pools, which might call another body in its
// place or be a caller's that cannot bear exceptions, and goes to who asked for the slots.
struct Kept {
  void (*body)(void* context, int slot);
  void* context;
  FloatMode floats = FloatMode::ofThisThread();  // oneTBB gives even the caller's own thread another environment
  std::atomic<bool> failed{false};
  std::exception_ptr first = nullptr;
};

void keeping(void* context, int slot) {
  Kept& kept = *static_cast<Kept*>(context);
  const FloatScope environment(kept.floats);
  try {
    kept.body(kept.context, slot);
  } catch (...) {
    if (!kept.failed.exchange(true)) kept.first = std::current_exception();
  }
}

}  // namespace

Result<int> parseThreadCount(const std::string& text) {
  const auto value = wholeNumber<int>(text);
  if (value && *value >= 1 && *value <= kMostThreads) return *value;
  return invalidInput("'" + text + "' must be a whole number of threads from 1 to " + std::to_string(kMostThreads));
}

std::string brokenThreads(int threads) {
  if (threads >= 0) return {};
  return "threads = " + std::to_string(threads) +
         " must be at least 0; 0 is as many as the options or the process allow";
}

int slotsOf(int threads, int usual) { return std::clamp(threads > 0 ? threads : usual, 1, kMostThreads); }

int threadsOf(const Options& options) { return options.threads > 0 ? options.threads : defaultThreads(); }

void runSlots(const ParallelFor& parallelFor, bool pin, int slots, void (*body)(void* context, int slot),
              void* context) {
  if (slots <= 1) {
    const FloatScope environment;
    return body(context, 0);
  }
  Kept kept{body, context};
  if (parallelFor.run != nullptr) {
    parallelFor.run(parallelFor.user, slots, keeping, &kept);
  } else if (inForkedChild()) {
    runInTurn(slots, keeping, &kept);
  } else {
    runInPool(pin, slots, keeping, &kept);
  }
  if (kept.failed) std::rethrow_exception(kept.first);
}

}  // namespace cubejit
