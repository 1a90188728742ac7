// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is what an executable says it keeps what the allocator has given for it?
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
std::size_t inUse() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(MemoryBytes, AreAboutWhatTheAllocatorGave) {
  Session session{Options{}};
  for (const PassMask mask : {kAllGradients, PassMask{.y = true}}) {
    const auto compiled = [&](std::int64_t extent) {
      auto result = session.compile(CompileRequest{squareProblem(2, 16, 8, extent), mask, {}});
      EXPECT_TRUE(result.ok());
      return result.value();
    };
    static_cast<void>(compiled(10));  // what is made once for all
    const std::size_t before = inUse();
    std::vector<std::shared_ptr<const Executable>> kept;
    std::size_t said = 0;
    for (std::int64_t extent = 11; extent < 31; ++extent) {
      kept.push_back(compiled(extent));
      said += kept.back()->memoryBytes();
    }
    const std::size_t given = inUse() - before;
    if (given == 0) GTEST_SKIP() << "the allocator tells nothing";
    EXPECT_GT(said, given / 2);
    EXPECT_LT(said, given * 2);
  }
}
#endif

}  // namespace
}  // namespace cubejit
