// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the time that a program's kernels and phases take is counted: ticks of the cheapest clock there is, a row of counters
// for each slot, so that threads do not take each other's lines away. Leaves what is timed to launch, and names to run_times.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cubejit/run_times.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace cubejit {

/// Steady; its unit is told by nanosecondsPerTick().
inline std::uint64_t ticksNow() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Both clocks at one moment.
struct ClockPair {
  std::uint64_t ticks;
  std::chrono::steady_clock::time_point time;
};

/// How long a tick is, from what both clocks did between two moments; 0 if no tick passed.
double nanosecondsPerTick(const ClockPair& from, const ClockPair& to);

/// Counters of a program's kernels and phases. Counting and reading may happen on many threads at once.
class KernelTimes {
 public:
  KernelTimes(std::size_t kernels, std::size_t phases, int slots);

  struct Counter {
    std::atomic<std::uint64_t> calls{0}, ticks{0};
    void add(std::uint64_t since) {
      calls.fetch_add(1, std::memory_order_relaxed);
      ticks.fetch_add(ticksNow() - since, std::memory_order_relaxed);
    }
  };
  /// A slot's counters: of kernels, then of phases.
  Counter* row(int slot) { return counters_.get() + static_cast<std::size_t>(slot) % slots_ * rowSize_; }
  std::size_t phaseAt(std::size_t phase) const { return kernels_ + phase; }

  /// The sum over all slots.
  TimeCount kernel(std::size_t index) const { return sum(index); }
  TimeCount phase(std::size_t index) const { return sum(phaseAt(index)); }

 private:
  TimeCount sum(std::size_t at) const;

  std::size_t kernels_, rowSize_, slots_;
  std::unique_ptr<Counter[]> counters_;
  ClockPair start_;
};

}  // namespace cubejit
