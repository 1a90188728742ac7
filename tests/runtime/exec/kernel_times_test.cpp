// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are calls and ticks of all slots summed, kept apart by kernel and phase, and told in the nanoseconds of the steady clock?
// Nothing is asked of how long anything takes.
#include "runtime/exec/kernel_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/run_times.h"
#include "runtime/tuning/measure.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

TEST(KernelTimes, SumsSlotsAndKeepsKernelsApart) {
  constexpr int kSlots = 3, kCalls = 1000;
  KernelTimes times(5, 2, kSlots);
  std::vector<std::thread> threads;
  for (int slot = 0; slot < kSlots; ++slot) {
    threads.emplace_back([&times, slot] {
      KernelTimes::Counter* row = times.row(slot);
      for (int i = 0; i < kCalls; ++i) {
        row[4].add(ticksNow());
        row[times.phaseAt(1)].add(ticksNow());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(times.kernel(4).calls, kSlots * kCalls);
  EXPECT_EQ(times.phase(1).calls, kSlots * kCalls);
  EXPECT_EQ(times.kernel(0).calls, 0);
  EXPECT_EQ(times.phase(0).calls, 0);
  EXPECT_EQ(times.row(kSlots), times.row(0));  // more threads than slots share rows
}

TEST(KernelTimes, ATickIsAsLongAsTheSteadyClockSays) {
  const ClockPair from{1000, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(700))};
  const ClockPair to{5000, from.time + std::chrono::nanoseconds(1000)};
  EXPECT_EQ(nanosecondsPerTick(from, to), 0.25);
  EXPECT_EQ(nanosecondsPerTick(from, from), 0.0);
}

TEST(KernelTimes, TicksBecomeNanoseconds) {
  KernelTimes times(2, 0, 1);
  times.row(0)[1].add(ticksNow() - 1000);
  EXPECT_EQ(times.kernel(0).nanoseconds, 0);
  EXPECT_GT(times.kernel(1).nanoseconds, 0);
}

RunTimes timesOf(bool timed, int runs, int threads) {
  Options options;
  options.timeKernels = timed;
  options.threads = threads;
  options.wakeCycles = 0;
  Session session(options);
  const Problem p = smallConvolution();
  auto workload = Workload::create(p, {true, true, false});
  const auto compiled = session.compile(p, {true, true, false});
  EXPECT_TRUE(workload.ok() && compiled.ok());
  for (int i = 0; i < runs; ++i) EXPECT_TRUE(workload.value()->run(**compiled).ok());
  return (*compiled)->runTimes();
}

TEST(RunTimes, AreThoseOfAllRunsAndAddUp) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  for (const int threads : {1, 2}) {
    const RunTimes once = timesOf(true, 1, threads), five = timesOf(true, 5, threads);
    EXPECT_EQ(once.runs.calls, 1);
    EXPECT_EQ(five.runs.calls, 5);
    ASSERT_EQ(once.kernels.size(), five.kernels.size());
    bool multiplies = false, moves = false;
    for (std::size_t i = 0; i < five.kernels.size(); ++i) {
      EXPECT_EQ(five.kernels[i].time.calls, 5 * once.kernels[i].time.calls) << five.kernels[i].kernel;
      if (five.kernels[i].time.calls == 0) {
        EXPECT_EQ(five.kernels[i].time.nanoseconds, 0) << five.kernels[i].kernel;
      }
      if (five.kernels[i].time.calls > 0) (five.kernels[i].multiplies ? multiplies : moves) = true;
    }
    EXPECT_TRUE(multiplies && moves);
    ASSERT_EQ(once.phases.size(), five.phases.size());
    for (std::size_t i = 0; i < five.phases.size(); ++i) {  // two threads share the parts out as it comes
      EXPECT_GE(five.phases[i].time.calls, 5) << five.phases[i].phase;
      if (threads == 1) {
        EXPECT_EQ(five.phases[i].time.calls, 5 * once.phases[i].time.calls) << five.phases[i].phase;
      }
    }
  }
}

TEST(RunTimes, AreEmptyUnlessAskedFor) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  const RunTimes none = timesOf(false, 2, 1);
  EXPECT_EQ(none.runs.calls, 0);
  EXPECT_TRUE(none.kernels.empty() && none.phases.empty());
}

}  // namespace
}  // namespace cubejit
