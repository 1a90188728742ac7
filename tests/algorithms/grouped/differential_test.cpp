// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every plan of groups side by side is exact, whatever a kernel holds in registers: rows side by side (dX), blocks of channels
// side by side (both), runs and taps of any length; strides, dilations, transposed, types and layouts at random, guarded memory,
// 1 and 2 threads (bit-identical).
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/random_plans.h"

namespace cubejit {
namespace {

// A random problem whose groups have at most four channels.
Problem smallGroups(RandomConvolution& random, int i) {
  Problem problem = randomProblem(random.engine(), 2e5);
  const auto pick = [&](int lo, int hi) { return lo + random.below(hi - lo + 1); };
  const bool depthwise = i % 3 != 0;
  problem.groups = pick(2, 70);
  problem.cin = problem.groups * (depthwise ? 1 : pick(1, 4));
  problem.cout = problem.groups * (depthwise ? 1 : pick(1, 4));
  problem.layout = i % 4 == 3 ? Layout::kNcdhw : Layout::kNdhwc;
  return problem;
}

// Those whose blocks of channels hold whole groups; the last block may be half empty.
Problem smallBlockedGroups(RandomConvolution& random, int i) {
  const auto pick = [&](int lo, int hi) { return lo + random.below(hi - lo + 1); };
  Problem problem = smallGroups(random, i);
  const std::int64_t in = problem.cin / problem.groups, out = problem.cout / problem.groups;
  problem.groups = i % 4 < 2 ? pick(1, 4) * 16 : pick(2, 70);
  problem.cin = problem.groups * (in == 3 ? 4 : in);
  problem.cout = problem.groups * (out == 3 ? 2 : out);
  problem.layout = Layout::kNdc1hwc0;
  TensorFormat other;
  other.layout = i % 2 == 0 ? Layout::kNdhwc : Layout::kNcdhw;
  if (i % 5 == 4) problem.formats[static_cast<std::size_t>(TensorId::kDy)] = other;
  return problem;
}

// A plan with other registers, legal or not; nothing if it holds more than the machine may have.
std::optional<TilingPlan> varied(TilingPlan plan, const Machine& machine, RandomConvolution& random) {
  const bool data = plan.pass == Pass::kDx;
  setField(plan, "register_vectors", 1 + random.below(3));
  if (data) {
    setField(plan, "register_h", 1 + random.below(4));
    setField(plan, "register_w", 1 + random.below(6));
  } else {
    setField(plan, "unroll", 1 + random.below(9));
  }
  std::int64_t accumulators = fieldOf(plan, "register_vectors");
  for (const char* field : data ? std::vector<const char*>{"register_h", "register_w"}
                                : std::vector<const char*>{"register_taps_h", "register_taps_w", "register_channels"})
    accumulators *= fieldOf(plan, field);
  if (accumulators > machine.isa.vectorRegs / 2) return std::nullopt;
  return plan;
}

using DrawProblem = Problem(RandomConvolution& random, int i);

RandomPlans<TilingPlan> groups(DrawProblem& problem, Pass pass, const Machine& machine) {
  return {.random = RandomConvolution(59),
          .problem = problem,
          .candidates = [pass](const Problem& p, const Machine& m) { return proposedPlans("grouped", p, pass, m); },
          .plan = [machine](const Problem&, TilingPlan plan,
                            RandomConvolution& random) { return varied(std::move(plan), machine, random); },
          .most = 2,
          .machine = hostOf};
}

// Verifies plans of problems that `problem` draws, on all ISAs; enough of them must hold several rows, and several blocks.
void expectPlansRight(DrawProblem& problem, std::size_t leastPlans, std::size_t leastRows, std::size_t leastWide) {
  for (const IsaLevel level : runnableIsas()) {
    std::size_t plans = 0, rows = 0, wide = 0;
    inSettings({level}, {DType::kF32, DType::kF16, DType::kBf16}, [&](const Setting& setting) {
      for (const Pass pass : {Pass::kDx, Pass::kDw}) {
        for (const VerifiedPlan& one : verifyPlans(groups(problem, pass, hostOf(level)), setting, 36)) {
          ++plans;
          rows += fieldOf(one.plan, "register_h") > 1 ? 1 : 0;
          wide += fieldOf(one.plan, "register_vectors") > 1 ? 1 : 0;
        }
      }
    });
    EXPECT_GT(plans, leastPlans) << toString(level);
    EXPECT_GT(rows, leastRows) << toString(level);
    EXPECT_GE(wide, leastWide) << toString(level);
  }
}

TEST(Grouped, AllPlansAreRight) { expectPlansRight(smallGroups, 60, 20, 31); }

// With AVX2 two vectors share a block of 16 channels, so they are never side by side.
TEST(Grouped, AllPlansOfBlockedTensorsAreRight) { expectPlansRight(smallBlockedGroups, 60, 10, 1); }

}  // namespace
}  // namespace cubejit
