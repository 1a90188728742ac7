// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether each ISA level either runs here or is refused with what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cubejit/cubejit.hpp"
#include "runtime/host/cpu.h"

namespace cubejit {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(Host, LevelsRunOrSayWhatIsMissing) {
  const std::vector<IsaLevel> runnable = runnableIsas();
  for (const IsaLevel level : kAllIsaLevels) {
    SCOPED_TRACE(toString(level));
    const Status runs = checkRunnable(level);
    const bool known = std::find(runnable.begin(), runnable.end(), level) != runnable.end();
    if (runs.ok()) {
      EXPECT_TRUE(known || tilesAreImitated());
      continue;
    }
    EXPECT_EQ(runs.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(runs.error().message, HasSubstr(std::string("cannot run ") + toString(level) + " code"));
    if (isaOf(level).matrixUnit() != nullptr) {
      EXPECT_THAT(runs.error().message, AnyOf(HasSubstr(": CPUID names no AMX"), HasSubstr(": XCR0"),
                                              HasSubstr(": arch_prctl"), HasSubstr("AArch64")));
    }
  }
}

TEST(Host, SessionsOfAMissingLevelSayIt) {
  Options options;
  options.isa = IsaLevel::kAvx512Amx;
  if (checkRunnable(*options.isa).ok()) GTEST_SKIP() << "it is there, or imitated";
  Problem problem;
  problem.rank = 2;
  problem.cin = problem.cout = 32;
  problem.in = problem.out = {1, 8, 8};
  problem.dtype = DType::kBf16;
  Session session(options);
  const auto compiled = session.compile(problem, {true, false, false});
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().message, checkRunnable(*options.isa).error().message);
}

}  // namespace
}  // namespace cubejit
