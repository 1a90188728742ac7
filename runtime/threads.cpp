// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the default thread pool: one oneTBB arena per number of slots, kept for the life of the process.
#include "runtime/threads.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

// Binds the i-th thread of an arena to the i-th CPU the process may use.
class Pinning final : public tbb::task_scheduler_observer {
 public:
  explicit Pinning(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus_.push_back(cpu);
      }
    }
    observe(true);
  }
  ~Pinning() override { observe(false); }
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;

  void on_scheduler_entry(bool) override {
    const int index = tbb::this_task_arena::current_thread_index();
    if (index < 0 || cpus_.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus_[static_cast<std::size_t>(index) % cpus_.size()], &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  }

 private:
  std::vector<int> cpus_;
};

struct Arena {
  explicit Arena(int slots, bool pin) : arena(slots) {
    if (pin) pinning = std::make_unique<Pinning>(arena);
  }
  tbb::task_arena arena;
  std::unique_ptr<Pinning> pinning;
};

// Arenas outlive main(): threads may still run executables while static objects are destroyed.
Arena& arenaOf(int slots, bool pin) {
  static auto* mutex = new std::mutex;
  static auto* arenas = new std::map<std::pair<int, bool>, std::unique_ptr<Arena>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  auto& arena = (*arenas)[{slots, pin}];
  if (!arena) arena = std::make_unique<Arena>(slots, pin);
  return *arena;
}

bool forked = false;

bool inForkedChild() {
  static const bool registered = pthread_atfork(nullptr, nullptr, [] { forked = true; }) == 0;
  return registered && forked;
}

}  // namespace

void runSlots(const ParallelFor& parallelFor, bool pin, int slots, void (*body)(void* context, int slot), void* context) {
  if (slots <= 1) {
    body(context, 0);
  } else if (parallelFor.run != nullptr) {
    parallelFor.run(parallelFor.user, slots, body, context);
  } else if (inForkedChild()) {
    for (int slot = 0; slot < slots; ++slot) body(context, slot);
  } else {
    arenaOf(slots, pin).arena.execute([&] {
      tbb::parallel_for(0, slots, [&](int slot) { body(context, slot); }, tbb::simple_partitioner());
    });
  }
}

}  // namespace cubejit
