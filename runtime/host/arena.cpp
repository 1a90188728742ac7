// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the default thread pool: oneTBB arenas, kept for the life of the process and lent to one run at a time.
#include "runtime/host/arena.h"

#include <pthread.h>
#include <sched.h>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

// The CPUs the process may use, asked once: pinned threads would answer with their own.
const std::vector<int>& allowedCpus() {
  static const auto* const cpus = [] {
    auto* found = new std::vector<int>;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) found->push_back(cpu);
      }
    }
    return found;
  }();
  return *cpus;
}

// Keeps the i-th thread of an arena on the i-th CPU the process may use. A system call takes longer than a small layer's pass,
// so there is none where a thread already is where it belongs: workers stay bound, and the caller's own thread is bound only if it
// runs elsewhere, and then gets its CPUs back.
class Pinning final : public tbb::task_scheduler_observer {
 public:
  explicit Pinning(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~Pinning() override { observe(false); }
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;

  void on_scheduler_entry(bool isWorker) override {
    const int index = tbb::this_task_arena::current_thread_index();
    const std::vector<int>& cpus = allowedCpus();
    if (index < 0 || cpus.empty()) return;
    const int cpu = cpus[static_cast<std::size_t>(index) % cpus.size()];
    if (isWorker ? boundTo_ == cpu : sched_getcpu() == cpu) return;
    if (isWorker)
      boundTo_ = cpu;
    else
      saved_ = pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), &before_) == 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  }

  void on_scheduler_exit(bool isWorker) override {
    if (isWorker || !saved_) return;
    pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &before_);
    saved_ = false;
  }

 private:
  static thread_local int boundTo_;  ///< of a worker; -1: to none yet
  static thread_local cpu_set_t before_;
  static thread_local bool saved_;
};
thread_local int Pinning::boundTo_ = -1;
thread_local cpu_set_t Pinning::before_;
thread_local bool Pinning::saved_ = false;

struct Arena {
  // More threads than CPUs would only take turns, and oneTBB would print a warning: slots without a thread run later.
  explicit Arena(int slots, bool pin) : arena(std::min(slots, tbb::info::default_concurrency())) {
    if (pin) pinning = std::make_unique<Pinning>(arena);
  }
  tbb::task_arena arena;
  std::unique_ptr<Pinning> pinning;
};

// Arenas nobody runs in at the moment, by slots and pinning. Each run has an arena of its own: callers that shared one would
// wait for each other's slots. Never destroyed: threads may still run executables while static objects are.
struct IdleArenas {
  std::mutex mutex;
  std::map<std::pair<int, bool>, std::vector<std::unique_ptr<Arena>>> bySlots;
};
IdleArenas& idleArenas() {
  static auto* const idle = new IdleArenas;
  return *idle;
}

std::unique_ptr<Arena> borrowArena(int slots, bool pin) {
  IdleArenas& idle = idleArenas();
  {
    const std::lock_guard<std::mutex> lock(idle.mutex);
    auto& arenas = idle.bySlots[{slots, pin}];
    if (!arenas.empty()) {
      std::unique_ptr<Arena> arena = std::move(arenas.back());
      arenas.pop_back();
      return arena;
    }
  }
  return std::make_unique<Arena>(slots, pin);
}

void returnArena(std::unique_ptr<Arena> arena, int slots, bool pin) {
  IdleArenas& idle = idleArenas();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  idle.bySlots[{slots, pin}].push_back(std::move(arena));
}

}  // namespace

void runInArena(bool pin, int slots, void (*body)(void* context, int slot), void* context) {
  std::unique_ptr<Arena> arena = borrowArena(slots, pin);
  arena->arena.execute(
      [&] { tbb::parallel_for(0, slots, [&](int slot) { body(context, slot); }, tbb::simple_partitioner()); });
  returnArena(std::move(arena), slots, pin);
}

}  // namespace cubejit
