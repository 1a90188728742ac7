// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is a peak measured for every ISA, and is nonsense refused? How high it is depends on the machine, and is asked of none.
#include <gtest/gtest.h>

#include <cmath>

#include "cubejit/cubejit.hpp"

namespace cubejit {
namespace {

TEST(Peak, EveryRunnableIsa) {
  for (const IsaLevel level : runnableIsas()) {
    const Result<double> gflops = measurePeakGflops(level, 1, 5);
    ASSERT_TRUE(gflops.ok()) << gflops.error().message;
    EXPECT_TRUE(std::isfinite(gflops.value()) && gflops.value() > 0) << gflops.value();
  }
}

TEST(Peak, ThreadsMustBeSensible) {
  ASSERT_FALSE(runnableIsas().empty());
  for (const int threads : {0, -1, 1 << 20})
    EXPECT_FALSE(measurePeakGflops(runnableIsas().front(), threads, 1).ok()) << threads;
}

}  // namespace
}  // namespace cubejit
