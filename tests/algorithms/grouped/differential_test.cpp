// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every plan of group cells is exact, whatever a kernel holds in registers: rows side by side (dX), blocks of channels
// side by side (both), runs and taps of any length; strides, dilations, transposed, types and layouts at random, guarded memory,
// 1 and 2 threads (bit-identical).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "runtime/json_problem.h"
#include "runtime/problem_text.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr std::array kTypes{DType::kF32, DType::kF16, DType::kBf16};

// A random problem whose groups have at most four channels.
Problem smallGroups(std::mt19937_64& random, std::size_t i) {
  Problem problem = randomProblem(random, 2e5);
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
  const bool depthwise = i % 3 != 0;
  problem.groups = pick(2, 70);
  problem.cin = problem.groups * (depthwise ? 1 : pick(1, 4));
  problem.cout = problem.groups * (depthwise ? 1 : pick(1, 4));
  problem.dtype = kTypes[i / 2 % kTypes.size()];
  problem.layout = i % 4 == 3 ? Layout::kNcdhw : Layout::kNdhwc;
  return problem;
}

// Those whose blocks of channels hold whole groups; the last block may be half empty.
Problem smallBlockedGroups(std::mt19937_64& random, std::size_t i) {
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
  Problem problem = smallGroups(random, i);
  const std::int64_t in = problem.cin / problem.groups, out = problem.cout / problem.groups;
  problem.groups = i % 4 < 2 ? pick(1, 4) * 16 : pick(2, 70);
  problem.cin = problem.groups * (in == 3 ? 4 : in);
  problem.cout = problem.groups * (out == 3 ? 2 : out);
  problem.layout = Layout::kNdc1hwc0;
  TensorFormat other;
  other.dtype = problem.dtype;
  other.layout = i % 2 == 0 ? Layout::kNdhwc : Layout::kNcdhw;
  if (i % 5 == 4) problem.formats[static_cast<std::size_t>(TensorId::kDy)] = other;
  return problem;
}

// A plan with other registers: it may hold more than there are, or be illegal; nothing if so.
std::optional<TilingPlan> varied(const Problem& problem, TilingPlan plan, const Machine& machine,
                                 std::mt19937_64& random) {
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(random); };
  setField(plan, "register_vectors", pick(1, 3));
  if (plan.gradient == Gradient::kDx) {
    setField(plan, "register_h", pick(1, 4));
    setField(plan, "register_w", pick(1, 6));
  } else {
    setField(plan, "unroll", pick(1, 9));
  }
  std::int64_t accumulators = fieldOf(plan, "register_vectors");
  for (const char* field : plan.gradient == Gradient::kDx
                               ? std::vector<const char*>{"register_h", "register_w"}
                               : std::vector<const char*>{"register_taps_h", "register_taps_w", "register_channels"})
    accumulators *= fieldOf(plan, field);
  const bool fits = accumulators <= machine.isa.vectorRegs / 2;
  if (!fits || !checkPlan(problem, plan, machine).empty()) return std::nullopt;
  return plan;
}

// Verifies plans of problems that `make` draws, on all ISAs; enough of them must hold several rows, and several blocks.
void expectPlansRight(Problem (*make)(std::mt19937_64&, std::size_t), std::size_t leastPlans, std::size_t leastRows,
                      std::size_t leastWide) {
  const std::vector<IsaLevel> levels = runnableIsas();
  for (const IsaLevel level : levels) {
    Options options;
    options.wakeCycles = 0;
    options.isa = level;
    Session session(options);
    const Machine machine = hostOf(level);
    std::mt19937_64 random(59);
    std::size_t plans = 0, rows = 0, wide = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      const Problem problem = make(random, i);
      for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
        std::vector<TilingPlan> candidates = proposedPlans("grouped", problem, gradient, machine);
        std::shuffle(candidates.begin(), candidates.end(), random);
        candidates.resize(std::min<std::size_t>(candidates.size(), 6));
        for (const TilingPlan& candidate : candidates) {
          const std::optional<TilingPlan> plan = varied(problem, candidate, machine, random);
          if (!plan) continue;
          ++plans;
          rows += fieldOf(*plan, "register_h") > 1 ? 1 : 0;
          wide += fieldOf(*plan, "register_vectors") > 1 ? 1 : 0;
          const VerifyOutcome outcome = verifyProblem(
              session,
              VerifyRequest{
                  problem, {gradient == Gradient::kDx, gradient == Gradient::kDw, false}, {1, 2}, i, false, {*plan}});
          ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
              << outcome.message << "\ncubejit verify " << toFlags(problem) << "\n"
              << planToJson(*plan);
        }
      }
    }
    EXPECT_GT(plans, leastPlans) << toString(level);
    EXPECT_GT(rows, leastRows) << toString(level);
    EXPECT_GE(wide, leastWide) << toString(level);
  }
}

TEST(Cells, AllPlansAreRight) { expectPlansRight(smallGroups, 60, 20, 31); }

// With AVX2 two vectors share a block of 16 channels, so they are never side by side.
TEST(Cells, AllPlansOfBlockedTensorsAreRight) { expectPlansRight(smallBlockedGroups, 60, 10, 1); }

}  // namespace
}  // namespace cubejit
