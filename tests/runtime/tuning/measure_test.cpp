// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do runs on a workload succeed and take time, whatever workspace they need, and is the speed of memory measured?
#include "runtime/tuning/measure.h"

#include <gtest/gtest.h>

#include "runtime/host/bandwidth.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

TEST(Workload, RunsEveryGradient) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  Session session;
  const Problem p = smallConvolution();
  for (const PassMask mask : {PassMask{true, false, false}, PassMask{false, true, false}, PassMask{false, false, true},
                              PassMask{true, true, true}}) {
    auto workload = Workload::create(p, mask);
    ASSERT_TRUE(workload.ok());
    const auto compiled = session.compile(p, mask);
    ASSERT_TRUE(compiled.ok());
    const auto ns = workload.value()->run(*compiled.value());
    ASSERT_TRUE(ns.ok()) << ns.error().message;
    EXPECT_GE(ns.value(), 1);
  }
}

TEST(Workload, TooLittleMemoryIsAnError) {
  Problem p = smallConvolution();
  p.batch = std::int64_t{1} << 40;
  const auto workload = Workload::create(p, {true, false, false});
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.error().code, ErrorCode::kLimitExceeded);
}

TEST(Bandwidth, IsPositiveAndThreadsAreChecked) {
  const auto rate = measureReadBandwidth(1, 1);
  ASSERT_TRUE(rate.ok());
  EXPECT_GT(rate.value(), 0);
  EXPECT_FALSE(measureReadBandwidth(0, 1).ok());
}

}  // namespace
}  // namespace cubejit
