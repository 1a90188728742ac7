// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does every slot run once, whoever brings the threads, however many callers there are; does pinning leave no trace?
#include "runtime/host/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/host/arena.h"

namespace cubejit {
namespace {

struct Counts {
  explicit Counts(int slots) : calls(static_cast<std::size_t>(slots)) {}
  std::vector<std::atomic<int>> calls;
  static void body(void* context, int slot) { ++static_cast<Counts*>(context)->calls[static_cast<std::size_t>(slot)]; }
};

void expectOnceEach(const Counts& counts) {
  for (std::size_t slot = 0; slot < counts.calls.size(); ++slot) EXPECT_EQ(counts.calls[slot], 1) << "slot " << slot;
}

TEST(Threads, EverySlotRunsOnce) {
  for (const int slots : {1, 2, 3, 5, 17}) {
    Counts counts(slots);
    runSlots({}, false, slots, &Counts::body, &counts);
    expectOnceEach(counts);
  }
}

TEST(Threads, TheArenaRunsEverySlotOnceAgainAndAgain) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "oneTBB is not built with ThreadSanitizer";
#endif
  for (int repeat = 0; repeat < 50; ++repeat) {
    Counts counts(2 + repeat % 5);
    runInArena(repeat % 2 == 0, 2 + repeat % 5, &Counts::body, &counts);
    expectOnceEach(counts);
  }
}

TEST(Threads, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        Counts counts(3);
        runSlots({}, false, 3, &Counts::body, &counts);
        expectOnceEach(counts);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Threads, CallersDoNotWaitForEachOthersSlots) {
  // The first caller holds its two slots until the second one, with two of its own, is through.
  std::atomic<bool> held{false}, release{false};
  struct Context {
    std::atomic<bool>&held, &release;
  } context{held, release};
  std::thread first([&] {
    runSlots(
        {}, false, 2,
        [](void* c, int) {
          static_cast<Context*>(c)->held = true;
          while (!static_cast<Context*>(c)->release) std::this_thread::yield();
        },
        &context);
  });
  while (!held) std::this_thread::yield();
  Counts counts(2);
  runSlots({}, false, 2, &Counts::body, &counts);
  release = true;
  first.join();
  expectOnceEach(counts);
}

TEST(Threads, NestedRuns) {
  std::atomic<int> inner{0};
  runSlots(
      {}, false, 2,
      [](void* context, int) {
        Counts counts(2);
        runSlots({}, false, 2, &Counts::body, &counts);
        expectOnceEach(counts);
        ++*static_cast<std::atomic<int>*>(context);
      },
      &inner);
  EXPECT_EQ(inner, 2);
}

TEST(Threads, TheCallersPoolIsUsed) {
  int asked = 0;
  const ParallelFor backwards{[](void* user, int count, void (*body)(void*, int), void* context) {
                                *static_cast<int*>(user) += count;
                                for (int i = count; i-- > 0;) body(context, i);
                              },
                              &asked};
  Counts counts(4);
  runSlots(backwards, false, 4, &Counts::body, &counts);
  expectOnceEach(counts);
  EXPECT_EQ(asked, 4);
  Counts alone(1);
  runSlots(backwards, false, 1, &Counts::body, &alone);
  EXPECT_EQ(asked, 4) << "one slot needs no pool";
}

int cpusOfThisThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return pthread_getaffinity_np(pthread_self(), sizeof(set), &set) == 0 ? CPU_COUNT(&set) : -1;
}

TEST(Threads, PinnedThreadsKeepToTheirCpus) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "plain threads stand in for the pool";
#endif
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  const int before = cpusOfThisThread();
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  struct Seen {
    std::thread::id caller;
    int first;
    std::atomic<int> callers{0}, astray{0}, unbound{0};
  } seen{std::this_thread::get_id(), first, {}, {}, {}};
  for (int i = 0; i < 50; ++i) {
    runSlots(
        {}, true, 2,
        [](void* context, int) {
          auto& s = *static_cast<Seen*>(context);
          const bool caller = std::this_thread::get_id() == s.caller;
          s.callers += caller ? 1 : 0;
          s.astray += caller && sched_getcpu() != s.first ? 1 : 0;
          s.unbound += !caller && cpusOfThisThread() != 1 ? 1 : 0;
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        },
        &seen);
  }
  EXPECT_GT(seen.callers, 0);
  EXPECT_EQ(seen.unbound, 0) << "workers";
  EXPECT_LT(seen.astray, seen.callers / 2) << "the caller's thread is brought to its CPU, but may be moved";
  EXPECT_EQ(cpusOfThisThread(), before) << "pinning ends with the run";
}

TEST(Threads, DefaultFollowsTheAffinity) {
  std::thread([] {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    const int coresBefore = detectHost(IsaLevel::kAvx2).cores;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(defaultThreads(), 1);
    EXPECT_EQ(detectHost(IsaLevel::kAvx2).cores, coresBefore) << "plans must not depend on the affinity";
  }).join();
  EXPECT_GE(defaultThreads(), 1);
}

}  // namespace
}  // namespace cubejit
