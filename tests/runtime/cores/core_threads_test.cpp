// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of cores' threads: one each, named, never more at once than allowed.
#include "runtime/cores/core_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cubejit {
namespace {

struct Seen {
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::string> names;
  std::set<std::thread::id> threads;
  std::atomic<int> running{0}, most{0};
};

void look(void* context, int core) {
  auto& seen = *static_cast<Seen*>(context);
  const int now = ++seen.running;
  for (int most = seen.most; now > most && !seen.most.compare_exchange_weak(most, now);) {
  }
  std::this_thread::yield();
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  {
    const std::lock_guard<std::mutex> lock(seen.mutex);
    seen.order.push_back(core);
    seen.names.emplace_back(name);
    seen.threads.insert(std::this_thread::get_id());
  }
  --seen.running;
}

TEST(CoreThreads, EachCoreHasAThreadNamedAfterIt) {
  Seen seen;
  runCoreThreads(48, 48, look, &seen);
  EXPECT_EQ(seen.threads.size(), 48U);
  ASSERT_EQ(seen.order.size(), 48U);
  for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(seen.names[i], "core " + std::to_string(seen.order[i]));
  std::sort(seen.order.begin(), seen.order.end());
  for (int i = 0; i < 48; ++i) EXPECT_EQ(seen.order[static_cast<std::size_t>(i)], i);
}

TEST(CoreThreads, RunOneAfterTheOtherInOrderOrSoManyAtOnce) {
  Seen one;
  runCoreThreads(20, 1, look, &one);
  EXPECT_EQ(one.most, 1);
  EXPECT_TRUE(std::is_sorted(one.order.begin(), one.order.end()));
  Seen three;
  runCoreThreads(40, 3, look, &three);
  EXPECT_LE(three.most, 3);
  EXPECT_EQ(three.order.size(), 40U);
}

// What each core's wait was told.
struct Waits {
  CoreBarrier* barrier;
  std::vector<std::string> told;
};

TEST(CoreThreads, WaitForEachOtherWhereAllRunAtOnce) {
  const auto told = [](int cores, int atOnce) {
    CoreBarrier barrier(cores);
    Waits waits{&barrier, std::vector<std::string>(static_cast<std::size_t>(cores))};
    runCoreThreads(
        cores, atOnce,
        [](void* context, int core) {
          auto& all = *static_cast<Waits*>(context);
          all.told[static_cast<std::size_t>(core)] = all.barrier->wait() + all.barrier->wait();
        },
        &waits, &barrier);
    return waits.told;
  };
  for (const std::string& text : told(6, 6)) EXPECT_EQ(text, "");
  for (const std::string& text : told(6, 5)) EXPECT_EQ(text.find("5 of 6 cores run at once"), 0U) << text;
}

}  // namespace
}  // namespace cubejit
