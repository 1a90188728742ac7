// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: can every plan that the rules accept be generated, on every ISA? What does not fit the registers, and numbers whose products leave
// 64 bits, are refused by the rules and not by the code generator.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "algorithms/lower.h"
#include "codegen/vector/legalize.h"
#include "codegen/vectorize.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// Why not; empty if it can.
std::string whyNotGenerated(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  const auto program = lower(problem, plan, machine);
  if (!program.ok()) return program.error().message;
  for (const Kernel& kernel : program->kernels) {
    const auto vector = vectorize(kernel, machine.isa);
    if (!vector.ok()) return vector.error().message;
    const auto legal = legalize(*vector);
    if (!legal.ok()) return legal.error().message;
  }
  return {};
}

// Another size of what registers hold, of the reduction or of a cache block.
TilingPlan changed(TilingPlan plan, std::mt19937_64& random) {
  std::vector<std::string> sizes;
  describePlan(plan, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) sizes.emplace_back(name);
  });
  for (int i = 0; i < 2 && !sizes.empty(); ++i) {
    const std::string& field = sizes[random() % sizes.size()];
    constexpr std::int64_t kExtreme[] = {std::int64_t{1} << 12, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31,
                                         std::int64_t{1} << 61, std::numeric_limits<std::int64_t>::max()};
    setField(plan, field,
             random() % 5 == 0 ? kExtreme[random() % 5]
                               : static_cast<std::int64_t>(1 + random() % (random() % 3 == 0 ? 32 : 6)));
  }
  return plan;
}

TEST(LegalPlans, CanAllBeGenerated) {
  std::mt19937_64 random(23);
  const IsaLevel levels[] = {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16};
  const DType types[] = {DType::kF32, DType::kBf16, DType::kF16};
  std::map<std::string, int> legal;  // by algorithm and gradient
  for (int i = 0; i < 300; ++i) {
    Problem p = randomProblem(random, 1e5);
    if (i % 4 == 0) fitRelaxedMath(random, p);
    if (i % 3 == 1) p.dtype = types[random() % 3];
    const Machine machine = machineOfSmallL2(levels[i % 3]);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(p, pass, machine, true);
      if (!choice.ok()) continue;
      std::map<std::string, int> seen;
      std::vector<TilingPlan> plans;
      for (const Candidate& candidate : choice->considered) {
        if (candidate.refusedBy.empty() && ++seen[planFamily(candidate.plan)] <= 2) plans.push_back(candidate.plan);
      }
      for (const Algorithm* a : algorithms()) {  // also of those that propose none
        if (a->pass == pass) plans.push_back(a->plan());
      }
      for (const TilingPlan& start : plans) {
        for (int change = 0; change < 12; ++change) {
          const TilingPlan plan = changed(start, random);
          const std::vector<std::string> broken = checkPlan(p, plan, machine);
          if (broken.empty()) {
            ++legal[std::string(algorithmName(plan)) + " " + toString(pass)];
            ASSERT_EQ(whyNotGenerated(p, plan, machine), "")
                << i << " " << toString(machine.isa.level) << " " << toString(p.dtype) << " " << planToJson(plan);
          }
        }
      }
    }
  }
  for (const Algorithm* a : algorithms()) {
    EXPECT_GT(legal[std::string(a->name) + " " + toString(a->pass)], 30) << a->name << " of " << toString(a->pass);
  }
}

}  // namespace
}  // namespace cubejit
