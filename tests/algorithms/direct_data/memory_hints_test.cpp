// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are prefetches and streaming stores allowed where kernels can have them, and refused with the reason elsewhere?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Machine kHost = hostMachine(avx512Isa(), 2, 32768, 1 << 20, 32 << 20);

Problem squarePointwise(std::int64_t extent = 64, std::int64_t channels = 64) {
  return squareProblem(2, channels, channels, extent, 1);
}

std::vector<std::string> brokenHints(const Problem& problem, const DirectDataPlan& plan, const Machine& machine) {
  Rules rules;
  directDataRules(problem, plan, {}, machine, rules);
  std::vector<std::string> hints;
  for (std::string& rule : rules.take()) {
    if (rule.rfind("prefetch", 0) == 0 || rule.rfind("streaming", 0) == 0) hints.push_back(std::move(rule));
  }
  return hints;
}

TEST(MemoryHints, NothingIsAskedOfAPlanThatLeavesThemOut) {
  EXPECT_THAT(brokenHints(squarePointwise(), {}, kHost), IsEmpty());
}

TEST(MemoryHints, ResultsPassTheCachesIfTheyAreLargeAndAligned) {
  DirectDataPlan plan;
  plan.streamingStore = true;
  EXPECT_THAT(checkPlan(squarePointwise(), plan, kHost), IsEmpty());  // 2 MiB
  EXPECT_THAT(brokenHints(squarePointwise(16), plan, kHost),
              Contains(HasSubstr("131072 bytes, which the L2 cache of 1048576")));
  EXPECT_THAT(brokenHints(squarePointwise(64, 72), plan, kHost), Contains(HasSubstr("288 bytes apart")));
  Problem half = squarePointwise(128);
  half.dtype = DType::kF16;
  EXPECT_THAT(brokenHints(half, plan, kHost), Contains(HasSubstr("16-bit")));
  plan.bufferC = true;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("streaming_store must be false")));
}

// The planner's own choice: large results of long sums, or results beyond all caches; whole lines only.
TEST(MemoryHints, ThePlannerStreamsWhatTheCachesWouldNotKeep) {
  const auto streams = [](const Problem& p, const Machine& m) {
    return choosePlan(p, Pass::kDx, m, false).value().plan.as<DirectDataPlan>().streamingStore;
  };
  EXPECT_FALSE(streams(squarePointwise(64, 64), kHost));  // 2 MiB of 32
  EXPECT_TRUE(streams(squarePointwise(112, 64), kHost));  // 13 MiB with dy
  Problem thin = squarePointwise(112, 64);
  thin.cout = 4;
  EXPECT_FALSE(streams(thin, kHost));  // storing is all it does, and L3 may keep it
  thin.in = thin.out = Dhw{1, 256, 256};
  EXPECT_TRUE(streams(thin, kHost));  // 33 MiB
  const Machine narrow = hostMachine(avx2Isa(), 2, 32768, 1 << 20, 32 << 20);
  const auto choice = choosePlan(squarePointwise(112, 64), Pass::kDx, narrow, true).value();
  for (const Candidate& c : choice.considered) {
    const auto* plan = std::get_if<DirectDataPlan>(&c.plan.algorithm);
    EXPECT_TRUE(plan == nullptr || !plan->streamingStore || plan->registerVectors % 2 == 0);
  }
}

// What would be the same program as usual is refused, so that nothing is tried twice.
TEST(MemoryHints, PrefetchesAreOfWhatAContractTouches) {
  DirectDataPlan plan;
  plan.prefetch = Prefetch::kResults;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("what usual means")));
  EXPECT_THAT(brokenHints(squarePointwise(64, 16), plan, kHost), IsEmpty());
  plan.prefetch = Prefetch::kNone;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), IsEmpty());
  EXPECT_THAT(brokenHints(squarePointwise(64, 16), plan, kHost), Contains(HasSubstr("what usual means")));
  plan.bufferC = true;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("in place")));
  plan = {};
  plan.vectorize = DataVectors::kInputChannels;
  plan.prefetchDistance = 5;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), IsEmpty());
  plan.prefetch = Prefetch::kResults;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("say prefetch_distance")));
  plan.prefetch = Prefetch::kNone;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("prefetch_distance = 5 must be 2")));
}

TEST(MemoryHints, OperandsAreAskedForWhereDxReadsThemInPlace) {
  DirectDataPlan plan;
  plan.prefetch = Prefetch::kOperands;
  plan.prefetchDistance = 5;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), IsEmpty());
  plan.prefetchDistance = 1000;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("must be at most")));
  plan.prefetchDistance = 2;
  plan.packA = true;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("prefetch = operands must be usual")));
  plan = {};
  plan.vectorize = DataVectors::kInputChannels;
  plan.prefetch = Prefetch::kOperands;
  EXPECT_THAT(brokenHints(squarePointwise(), plan, kHost), Contains(HasSubstr("prefetch = operands must be usual")));
}

}  // namespace
}  // namespace cubejit
