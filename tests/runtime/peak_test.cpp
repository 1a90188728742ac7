// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is the measured peak a sensible number for every ISA, and is nonsense refused?
#include <gtest/gtest.h>

#include "cubejit/cubejit.hpp"

namespace cubejit {
namespace {

TEST(Peak, EveryRunnableIsa) {
  for (const IsaLevel level : runnableIsas()) {
    const Result<double> gflops = measurePeakGflops(level, 1, 5);
    ASSERT_TRUE(gflops.ok()) << gflops.error().message;
    EXPECT_GT(gflops.value(), 1.0);
    EXPECT_LT(gflops.value(), 2000.0) << "more than any core can do: the loop does not run";
  }
}

TEST(Peak, ThreadsMustBeSensible) {
  ASSERT_FALSE(runnableIsas().empty());
  for (const int threads : {0, -1, 1 << 20})
    EXPECT_FALSE(measurePeakGflops(runnableIsas().front(), threads, 1).ok()) << threads;
}

}  // namespace
}  // namespace cubejit
