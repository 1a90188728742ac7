// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a forked child compute, whatever the parent's threads were doing at that moment?
#include "runtime/host/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/tuning/store.h"
#include "tests/support/operands.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

#if defined(__SANITIZE_THREAD__)
#define CUBEJIT_SKIP_FORK GTEST_SKIP() << "ThreadSanitizer does not follow a fork of several threads"
#else
#define CUBEJIT_SKIP_FORK static_cast<void>(0)
#endif

// Exit code of a child that runs `body`; a child that hangs is killed and gives a code above 128.
template <class Body>
int exitCodeOfChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);  // a busy machine under a sanitizer takes 20 s and more
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Fork, TheChildComputesWithWarmPoolAndCache) {
  CUBEJIT_SKIP_FORK;
  const Problem p = squareProblem(2, 16, 24, 20);
  Session session;
  const auto executable = session.compile(p, kAllGradients).value();
  Operands want(p);
  ASSERT_TRUE(want.run(*executable, 2).ok());  // the pool has threads now
  const int code = exitCodeOfChild([&] {
    if (!inForkedChild()) return 1;
    const auto again = session.compile(p, kAllGradients);
    if (!again.ok() || again.value() != executable) return 2;
    Operands got(p);
    if (!got.run(*executable, 2).ok()) return 3;
    if (std::memcmp(got.dw.data(), want.dw.data(), want.dw.size() * 4) != 0) return 4;
    if (!session.compile(squareProblem(1, 3, 5, 9), kAllGradients).ok()) return 5;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(inForkedChild());
}

TEST(Fork, WhileOtherThreadsGenerateAndRun) {
  CUBEJIT_SKIP_FORK;
  const ScratchFolder folder("fork");
  Options options;
  options.tune = TuneMode::kUse;
  options.store = folder.file("tune.db");  // looked up by every compilation
  ASSERT_TRUE(TuningStore::open(options.store, StoreAccess::kReadWrite, nullptr).ok());
  Session session(options);
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&, i] {
      for (std::int64_t round = 0; !stop; ++round) {
        const auto compiled = session.compile(squareProblem(1, 4, 4, 5 + (round * 3 + i) % 40), kAllGradients);
        if (!compiled.ok()) continue;
        Operands operands(compiled.value()->problem());
        static_cast<void>(operands.run(*compiled.value(), 2));
        if (round % 8 == 7) session.clear();
      }
    });
  }
  busy.emplace_back([&] {  // as compilations do, and nothing else
    while (!stop) {
      const NoFork whole;
      static_cast<void>(TuningStore::open(options.store, StoreAccess::kRead, nullptr));
    }
  });
  for (int attempt = 0; attempt < 25; ++attempt) {
    // The child asks for everything the threads might have been generating: nothing may hang.
    const int code = exitCodeOfChild([&] {
      if (!TuningStore::open(options.store, StoreAccess::kRead, nullptr).ok()) return 4;
      for (std::int64_t size = 5; size < 45; ++size) {
        if (!session.compile(squareProblem(1, 4, 4, size), kAllGradients).ok()) return 1;
      }
      const auto compiled = session.compile(squareProblem(2, 16, 16, 20), kAllGradients);
      if (!compiled.ok()) return 2;
      Operands operands(compiled.value()->problem());
      return operands.run(*compiled.value(), 2).ok() ? 0 : 3;
    });
    EXPECT_EQ(code, 0);
  }
  stop = true;
  for (std::thread& t : busy) t.join();
}

TEST(Fork, AGrandchildToo) {
  CUBEJIT_SKIP_FORK;
  Session session;
  const auto executable = session.compile(squareProblem(2, 16, 24, 20), kAllGradients).value();
  Operands first(executable->problem());
  ASSERT_TRUE(first.run(*executable, 2).ok());
  const int code = exitCodeOfChild([&] {
    return exitCodeOfChild([&] {
      Operands operands(executable->problem());
      return operands.run(*executable, 2).ok() ? 0 : 3;
    });
  });
  EXPECT_EQ(code, 0);
}

TEST(Fork, WaitsForWhatMustNotBeCut) {
  CUBEJIT_SKIP_FORK;
  std::atomic<bool> stop{false};
  std::array<std::array<std::atomic<int>, 2>, 2> pairs{};
  std::vector<std::thread> busy;
  for (auto& [first, second] : pairs) {
    busy.emplace_back([&stop, &first = first, &second = second] {
      while (!stop) {
        const NoFork whole;
        ++first;
        std::this_thread::yield();
        const NoFork within;
        ++second;
      }
    });
  }
  for (int attempt = 0; attempt < 200; ++attempt) {
    const NoFork mine;  // is no reason to wait
    const int code = exitCodeOfChild([&] {
      for (const auto& [first, second] : pairs) {
        if (first != second) return 1;
      }
      const NoFork again;
      return exitCodeOfChild([] { return 0; });
    });
    ASSERT_EQ(code, 0);
  }
  stop = true;
  for (std::thread& t : busy) t.join();
}

TEST(Fork, AChildOpensNoStoreBesideAnInheritedOne) {
  CUBEJIT_SKIP_FORK;
  const ScratchFolder folder("fork");
  const auto opens = [&] {
    const auto store = TuningStore::open(folder.file("tune.db"), StoreAccess::kReadWrite, nullptr);
    return store.ok() ? 0 : store.error().message.find("forked") != std::string::npos ? 1 : 2;
  };
  {
    const auto open = TuningStore::open(folder.file("other.db"), StoreAccess::kReadWrite, nullptr);
    EXPECT_EQ(exitCodeOfChild([&] { return exitCodeOfChild(opens); }), 1);
    EXPECT_EQ(opens(), 0);
  }
  EXPECT_EQ(exitCodeOfChild([&] { return exitCodeOfChild(opens); }), 0);
}

TEST(Fork, AGuardThatIsGoneIsNotAsked) {
  CUBEJIT_SKIP_FORK;
  int forgotten = 0;
  std::mutex mutex;
  {
    const ForkGuard gone(mutex, [&] { forgotten += 100; });
  }
  const ForkGuard guard(mutex, [&] { ++forgotten; });
  EXPECT_EQ(exitCodeOfChild([&] { return forgotten; }), 1);
  EXPECT_EQ(forgotten, 0);
  EXPECT_TRUE(mutex.try_lock()) << "the parent has its lock back";
  mutex.unlock();
}

}  // namespace
}  // namespace cubejit
