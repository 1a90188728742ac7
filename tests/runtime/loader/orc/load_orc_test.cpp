// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are objects runnable where they were put, is no page ever writable and executable, are failures errors?
#include "runtime/loader/orc/load_orc.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "codegen/llvm_backend/emit.h"
#include "cubejit/cubejit.hpp"
#include "tests/support/executable_memory.h"

namespace cubejit {
namespace {

// Adds the vector at a to the one at c, `repeat` times.
Code adds(const std::string& name) {
  VectorProgram p;
  p.name = name;
  p.isa = isaOf(runnableIsas().front());
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 0},
            {.op = VOp::kArg, .dst = 1, .imm = 2},
            {.op = VOp::kArg, .dst = 2, .imm = 4},
            {.op = VOp::kLoad, .dst = 0, .mem = {0, 0}},
            {.op = VOp::kLoad, .dst = 1, .mem = {1, 0}},
            {.op = VOp::kLoop, .dst = 2},
            {.op = VOp::kAddF, .dst = 1, .src1 = 1, .src2 = 0},
            {.op = VOp::kEndLoop},
            {.op = VOp::kStore, .src1 = 1, .mem = {1, 0}}};
  auto code = emitLlvm(p);
  EXPECT_TRUE(code.ok()) << (code.ok() ? "" : code.error().message);
  return code.ok() ? *code : Code{};
}

float sumBy(KernelFunction entry, std::int64_t repeat) {
  std::vector<float> a(16, 2.0F), c(16, 1.0F);
  KernelArgs args;
  args.a = a.data();
  args.c = c.data();
  args.repeat = repeat;
  entry(&args);
  return c[3];
}

TEST(LoadOrc, EntriesRunAndNamesMayRepeat) {
  const auto loaded = loadOrc({adds("same"), adds("same"), adds("other")});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sumBy(loaded->entry(i), 3), 7.0F);
    EXPECT_EQ(sumBy(loaded->entry(i), 0), 1.0F);
    EXPECT_EQ(rightsOf(reinterpret_cast<const void*>(loaded->entry(i))), "r-xp");
  }
  EXPECT_NE(loaded->entry(0), loaded->entry(1));
}

TEST(LoadOrc, NothingToLoadMapsNothing) {
  const auto loaded = loadOrc({});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->bytes(), 0U);
}

TEST(LoadOrc, PagesGoWithTheObject) {
  const void* entry = nullptr;
  {
    const auto loaded = loadOrc({adds("gone")});
    ASSERT_TRUE(loaded.ok());
    entry = reinterpret_cast<const void*>(loaded->entry(0));
  }
  EXPECT_NE(rightsOf(entry), "r-xp");
}

// Looked at from another thread all the while.
TEST(LoadOrc, NoPageIsEverWritableAndExecutable) {
  std::atomic<bool> done{false};
  std::atomic<int> worst{0}, looks{0};
  std::thread watcher([&] {
    while (!done) {
      if (executableMappings() < 0) worst = -1;
      ++looks;
    }
  });
  const std::vector<Code> codes(20, adds("watched"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(loadOrc(codes).ok());
  done = true;
  watcher.join();
  EXPECT_EQ(worst, 0);
  EXPECT_GT(looks, 0);
}

TEST(LoadOrc, DamagedObjectsAreErrors) {
  Code code = adds("damaged");
  code.bytes.resize(code.bytes.size() / 2);
  const auto cut = loadOrc({code});
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().stage, Stage::kLoad);
  Code renamed = adds("one");
  renamed.name = "two";
  const auto missing = loadOrc({renamed});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("two"), std::string::npos) << missing.error().message;
}

TEST(LoadOrc, ASystemThatForbidsExecutableMemoryIsAnError) {
  const Code code = adds("forbidden");
  constexpr int kNoFilter = 77;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!forbidExecutableMemory()) _exit(kNoFilter);
    const auto loaded = loadOrc({code});
    if (loaded.ok()) _exit(1);
    _exit(loaded.error().code == ErrorCode::kLimitExceeded && loaded.error().stage == Stage::kLoad ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "system call filters are not available";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cubejit
