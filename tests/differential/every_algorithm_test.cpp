// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of every algorithm of the table: are its plans right, of every type, layout and geometry, on every ISA that runs here? The planner's
// preference does not count: any legal plan that the algorithm proposes must compute the gradient, on 1 and 2 threads to the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/kit/adjoint.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {};

// Every other problem has few channels a group, or relaxed math: some algorithms take no others. Relaxed sums have errors.
Problem problemFor(std::mt19937_64& random, int i) {
  Problem p = randomProblem(random, 2e5);
  if (i % 2 == 1) fitRelaxedMath(random, p);
  randomFormats(random, p, i % 3 != 0, i % 4 >= 2);
  return p;
}

TEST_P(EveryAlgorithm, PlansAreRight) {
  const Algorithm& algorithm = *GetParam();
  const PassMask mask = maskOf(algorithm.pass);
  for (const IsaLevel level : runnableIsas()) {
    Session session(eagerOptions(level));
    const Machine machine = machineOfSmallL2(level);
    std::mt19937_64 random(71);
    int verified = 0;
    for (int i = 0; i < 80; ++i) {
      const Problem p = problemFor(random, i);
      for (const TilingPlan& plan : someLegalPlans(algorithm, p, machine, 3, random)) {
        ++verified;
        VerifyRequest request{p, mask, {1, 2}, static_cast<std::uint64_t>(i), p.math == MathMode::kRelaxed, {plan}};
        const VerifyOutcome outcome = verifyProblem(session, request);
        ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
            << outcome.message << "\ncubejit verify " << toFlags(p) << "\n"
            << planToJson(plan);
      }
    }
    EXPECT_GT(verified, 10) << toString(level);
  }
}

// Forward with post-ops: whatever way an algorithm's sums leave, they are finished once, and rounded behind that.
TEST_P(EveryAlgorithm, ForwardEndsWithPostOps) {
  const Algorithm& algorithm = *GetParam();
  if (algorithm.pass != Pass::kDx) GTEST_SKIP() << "forward is backward data of the adjoint";
  for (const IsaLevel level : runnableIsas()) {
    Session session(eagerOptions(level));
    const Machine machine = machineOfSmallL2(level);
    std::mt19937_64 random(72);
    int verified = 0;
    for (int i = 0; i < 80; ++i) {
      Problem p = problemFor(random, i);
      randomPostOps(random, p);
      std::vector<TilingPlan> plans = proposedPlans(algorithm.name, adjointOf(p), Pass::kDx, machine);
      std::shuffle(plans.begin(), plans.end(), random);
      int left = 3;
      for (const TilingPlan& data : plans) {
        const TilingPlan plan = asForward(data);
        if (left == 0 || !checkPlan(p, plan, machine).empty()) continue;
        --left;
        ++verified;
        VerifyRequest request{
            p, maskOf(Pass::kY), {1, 2}, static_cast<std::uint64_t>(i), p.math == MathMode::kRelaxed, {plan}};
        const VerifyOutcome outcome = verifyProblem(session, request);
        ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
            << outcome.message << "\ncubejit verify --passes y " << toFlags(p) << "\n"
            << planToJson(plan);
      }
    }
    EXPECT_GT(verified, 10) << toString(level);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, testing::ValuesIn(algorithms()), algorithmTestName);

}  // namespace
}  // namespace cubejit
