// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is code runnable where it was put, is no page ever writable and executable, is a refusal an error and not a crash?
#include "runtime/loader/load_raw.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/support/executable_memory.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

// mov dword [rdi + 64], value; ret: writes to the slot `accumulate` of its arguments.
Code writesItsNumber(std::uint8_t value, std::size_t padding = 0) {
  Code code;
  for (const int byte : {0xc7, 0x47, 0x40, static_cast<int>(value), 0, 0, 0, 0xc3})
    code.bytes.push_back(static_cast<std::byte>(byte));
  code.bytes.resize(code.bytes.size() + padding);
  return code;
}

TEST(LoadRaw, EveryEntryIsAlignedAndRuns) {
  const Result<LoadedCode> loaded = loadRaw({writesItsNumber(1), writesItsNumber(2, 100), writesItsNumber(3, 5000)});
  ASSERT_TRUE(loaded.ok());
  for (std::size_t i = 0; i < 3; ++i) {
    KernelArgs args;
    loaded.value().entry(i)(&args);
    EXPECT_EQ(args.accumulate, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.value().entry(i)) % 64, 0U);
    EXPECT_EQ(rightsOf(reinterpret_cast<const void*>(loaded.value().entry(i))), "r-xp");
  }
}

TEST(LoadRaw, NothingToLoadMapsNothing) {
  const Result<LoadedCode> loaded = loadRaw({});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().bytes(), 0U);
}

TEST(LoadRaw, MovesAndUnmaps) {
  const void* entry = nullptr;
  {
    Result<LoadedCode> loaded = loadRaw({writesItsNumber(9)});
    ASSERT_TRUE(loaded.ok());
    const LoadedCode moved = std::move(loaded).value();
    entry = reinterpret_cast<const void*>(moved.entry(0));
    EXPECT_EQ(rightsOf(entry), "r-xp");
  }
  EXPECT_NE(rightsOf(entry), "r-xp");
}

TEST(LoadRaw, NoPageIsWritableAndExecutable) {
  Session session;
  const Result<std::shared_ptr<const Executable>> compiled =
      session.compile(squareProblem(2, 16, 32, 9), kAllGradients);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  Operands operands(compiled.value()->problem());
  ASSERT_TRUE(operands.run(*compiled.value(), 2).ok());
  std::size_t executable = 0;
  for (const Mapping& m : mappings()) {
    const bool writable = m.rights.find('w') != std::string::npos, runs = m.rights.find('x') != std::string::npos;
    executable += runs ? 1 : 0;
    EXPECT_FALSE(writable && runs) << std::hex << m.begin << " " << m.rights;
  }
  EXPECT_GT(executable, 0U);
  for (const KernelView& kernel : compiled.value()->kernels()) EXPECT_EQ(rightsOf(kernel.entry), "r-xp") << kernel.name;
}

TEST(LoadRaw, ASystemThatForbidsExecutableMemoryIsAnError) {
  constexpr int kNoFilter = 77;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!forbidExecutableMemory()) _exit(kNoFilter);
    const Result<LoadedCode> loaded = loadRaw({writesItsNumber(1)});
    if (loaded.ok()) _exit(1);
    const bool told = loaded.error().message.find("executable memory") != std::string::npos;
    _exit(loaded.error().code == ErrorCode::kLimitExceeded && loaded.error().stage == Stage::kLoad && told ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "system call filters are not available";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cubejit
