// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of realistic problems of up to 2^31 elements: has each a plan, and is it found soon? CUBEJIT_PLAN_PROBLEMS=N takes N problems, and says
// how long planning took and which problems took more than 250 ms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/pipeline/choose_within.h"
#include "runtime/text/problem_text.h"
#include "tests/support/host.h"
#include "tests/support/realistic_problems.h"

namespace cubejit {
namespace {

constexpr double kTold = 250;  // ms

// The time that this thread has had: other programs may use the core as well.
double cpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

TEST(PlanTime, RealisticProblemsArePlannedSoon) {
  const char* const asked = std::getenv("CUBEJIT_PLAN_PROBLEMS");
  const int problems = asked == nullptr ? 200 : std::atoi(asked);
  ASSERT_GT(problems, 0);
  RealisticProblems random(55);
  std::vector<double> times;
  for (int i = 0; i < problems; ++i) {
    const Problem p = random.next();
    const Pass pass = kPasses[static_cast<std::size_t>(random.below(kPasses.size()))];
    constexpr IsaLevel kLevels[] = {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16,
                                    IsaLevel::kAvx512AmxFp16};
    const IsaLevel level = kLevels[random.below(4)];
    const double begin = cpuMilliseconds();
    const auto choice = choosePlanWithin(p, pass, hostOf(level), false, WeightsUse::kEachRun, {});
    times.push_back(cpuMilliseconds() - begin);
    const std::string problem = std::string(toString(pass)) + " " + toString(level) + " " + toFlags(p);
    EXPECT_TRUE(choice.ok()) << problem << "\n" << choice.error().message;
    if (asked != nullptr && times.back() > kTold) std::cout << times.back() << " ms: " << problem << "\n";
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  if (asked != nullptr) {
    std::cout << problems << " problems: p50 " << quantile(0.5) << " ms, p90 " << quantile(0.9) << " ms, p99 "
              << quantile(0.99) << " ms, worst " << times.back() << " ms\n";
  }
#ifndef CUBEJIT_SANITIZED
  // Many times what it takes: a machine of many users is slow, an enumeration without a bound is slower.
  EXPECT_LT(quantile(0.99), 1000);
#endif
}

}  // namespace
}  // namespace cubejit
