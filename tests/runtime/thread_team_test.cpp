// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do threads that need each other run all at once, or not at all?
#include "runtime/thread_team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>

namespace cubejit {
namespace {

TEST(ThreadTeam, AllRunAtOnce) {
  constexpr int kThreads = 5;
  std::barrier<> together(kThreads);
  std::array<std::atomic<int>, kThreads> calls{};
  ASSERT_TRUE(runTogether(kThreads, [&](int i) {
                together.arrive_and_wait();
                ++calls[static_cast<std::size_t>(i)];
              }).ok());
  for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
}

// In a process of its own: no memory for stacks, which is what a system without threads to give says, too.
TEST(ThreadTeamDeath, NoneRunsWhereThereAreTooFew) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than the test leaves";
#endif
  const auto tooMany = [] {
    const rlimit memory{rlim_t{1} << 30, rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &memory);
    std::atomic<int> calls{0};
    const Status status = runTogether(2000, [&](int) { ++calls; });
    std::_Exit(!status.ok() && status.error().code == ErrorCode::kLimitExceeded && calls.load() == 0 ? 3 : 4);
  };
  EXPECT_EXIT(tooMany(), ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace cubejit
