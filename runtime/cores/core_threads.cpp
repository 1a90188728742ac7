// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how cores' threads are made, named and let in; see the header.
#include "runtime/cores/core_threads.h"

#include <pthread.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cubejit/float_mode.h"

namespace cubejit {
namespace {

// Lets cores in by their number, so many at a time.
class Gate {
 public:
  Gate(int cores, int atOnce) : turns_(static_cast<std::size_t>(cores) + 1), free_(atOnce) {}
  void enter(int core) {
    std::unique_lock<std::mutex> lock(mutex_);
    turns_[static_cast<std::size_t>(core)].wait(lock, [&] { return open_ && next_ == core && free_ > 0; });
    ++next_;
    --free_;
    wakeNext();
  }
  /// Nobody enters before: who stops at the first core's first line sees all cores.
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    wakeNext();
  }
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++free_;
    wakeNext();
  }

 private:
  void wakeNext() { turns_[static_cast<std::size_t>(next_)].notify_one(); }

  std::mutex mutex_;
  std::vector<std::condition_variable> turns_;  ///< of each core, and of none behind the last
  bool open_ = false;
  int next_ = 0, free_;
};

}  // namespace

void runCoreThreads(int cores, int atOnce, void (*body)(void* context, int core), void* context, CoreBarrier* barrier) {
  Gate gate(cores, atOnce);
  const FloatMode floats = FloatMode::ofThisThread();
  const auto run = [&](int core) {
    const FloatScope environment(floats);
    gate.enter(core);
    body(context, core);
    if (barrier != nullptr) barrier->leave(core);
    gate.leave();
  };
  std::vector<std::thread> threads;
  int core = 0;
  try {
    threads.reserve(static_cast<std::size_t>(cores));
    for (; core < cores; ++core) {
      threads.emplace_back([&run, core] {
        pthread_setname_np(pthread_self(), ("core " + std::to_string(core)).c_str());
        run(core);
      });
    }
  } catch (const std::exception&) {  // no thread, or no memory for one: this one does the rest
  }
  if (barrier != nullptr && atOnce < cores)
    barrier->refuse(std::to_string(atOnce) + " of " + std::to_string(cores) +
                    " cores run at once, so they cannot wait for each other; set hostThreads to 0 or at least " +
                    std::to_string(cores));
  if (barrier != nullptr && core < cores)
    barrier->refuse("the host has no threads for all cores, so some run one after the other; launch fewer blocks");
  gate.open();
  for (; core < cores; ++core) run(core);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cubejit
