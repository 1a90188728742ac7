// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how counters lie, and how long a tick is.
#include "runtime/exec/kernel_times.h"

#include <algorithm>

namespace cubejit {
namespace {

constexpr std::size_t kCountersOfLine = 64 / sizeof(KernelTimes::Counter);

// The thread may be sent away between the two readings: the tightest of several pairs.
ClockPair clocksNow() {
  constexpr int kPairs = 8;
  ClockPair best{};
  auto tightest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < kPairs; ++i) {
    const auto before = std::chrono::steady_clock::now();
    const std::uint64_t ticks = ticksNow();
    const auto gap = std::chrono::steady_clock::now() - before;
    if (gap >= tightest) continue;
    tightest = gap;
    best = {ticks, before + gap / 2};
  }
  return best;
}

}  // namespace

double nanosecondsPerTick(const ClockPair& from, const ClockPair& to) {
  const std::chrono::duration<double, std::nano> since = to.time - from.time;
  const auto ticks = static_cast<double>(to.ticks - from.ticks);
  return ticks > 0 ? since.count() / ticks : 0.0;
}

KernelTimes::KernelTimes(std::size_t kernels, std::size_t phases, int slots)
    : kernels_(kernels),
      rowSize_((kernels + phases + kCountersOfLine) / kCountersOfLine * kCountersOfLine),  // rows share no line
      slots_(static_cast<std::size_t>(std::max(1, slots))),
      counters_(std::make_unique<Counter[]>(rowSize_ * slots_)),
      start_(clocksNow()) {}

TimeCount KernelTimes::sum(std::size_t at) const {
  std::uint64_t calls = 0, ticks = 0;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const Counter& counter = counters_[slot * rowSize_ + at];
    calls += counter.calls.load(std::memory_order_relaxed);
    ticks += counter.ticks.load(std::memory_order_relaxed);
  }
  // Both clocks have run since the counters were made: the longer ago, the more exact.
  return {static_cast<std::int64_t>(calls), static_cast<double>(ticks) * nanosecondsPerTick(start_, clocksNow())};
}

}  // namespace cubejit
