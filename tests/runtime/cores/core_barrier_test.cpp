// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the barrier of a launch's cores: rounds that end, and those that cannot.
#include "runtime/cores/core_barrier.h"

#include <gtest/gtest.h>

#include <thread>

namespace cubejit {
namespace {

TEST(CoreBarrier, ACoreThatLeavesBehindTheLastRoundBreaksNone) {
  for (int i = 0; i < 200; ++i) {
    CoreBarrier barrier(2);
    std::string other;
    std::thread thread([&] {
      other = barrier.wait() + barrier.wait();
      barrier.leave(1);
    });
    const std::string mine = barrier.wait() + barrier.wait();
    barrier.leave(0);
    thread.join();
    ASSERT_EQ(mine + other, "");
  }
}

TEST(CoreBarrier, ThoseThatWaitAreToldThatTheyAreNotMet) {
  CoreBarrier barrier(3);
  std::string other;
  std::thread thread([&] { other = barrier.wait(); });
  barrier.leave(2);
  EXPECT_EQ(barrier.wait().find("core 2 ended with fewer calls"), 0U);
  thread.join();
  EXPECT_EQ(other.find("core 2 ended with fewer calls"), 0U);
}

TEST(CoreBarrier, ARefusalIsToldToAllAndTheFirstStays) {
  CoreBarrier barrier(2);
  std::string other;
  std::thread thread([&] { other = barrier.wait(); });
  barrier.refuse("no threads");
  barrier.refuse("another reason");
  barrier.leave(0);
  EXPECT_EQ(barrier.wait(), "no threads");
  thread.join();
  EXPECT_EQ(other, "no threads");
}

}  // namespace
}  // namespace cubejit
