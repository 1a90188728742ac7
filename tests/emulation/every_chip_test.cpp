// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every chip computes gradients in every type of its cube: more than 2,000 random problems, dX, dW and db of each, every
// element equal to the fp64 reference's, the same bits on one, two and three host threads.
#include <gtest/gtest.h>

#include "cubejit/machines.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

TEST(EveryChip, RandomProblemsInEveryType) {
  std::mt19937_64 random(31);
  constexpr int kProblems = 15;  // of each chip and type
  int chips = 0, passed = 0;
  for (const std::string& name : machineNames()) {
    const Machine machine = *machineByName(name);
    if (!machine.isNpu()) continue;
    ++chips;
    for (const CubeStep& step : machine.npu.cubes) {
      for (int i = 0; i < kProblems; ++i) {
        Problem p = randomProblem(random, 5e4);
        p.batch = std::max<std::int64_t>(1, p.batch);
        p.dtype = step.operand;
        if (i % 3 == 0) randomFormats(random, p, false, true);
        const VerifyRequest request{p, {true, true, true}, {1, 2, 3}, static_cast<std::uint64_t>(i), false, {}};
        const bool fast = i % 5 == 0;  // with its proof, which interpreters make: most of the test's time
        const VerifyOutcome outcome = verifyOnNpu(machine, Options{}, request, fast);
        EXPECT_NE(outcome.verdict, Verdict::kFailed)
            << name << " " << toString(step.operand) << " #" << i << ": " << outcome.message;
        passed += outcome.verdict == Verdict::kPassed ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(chips, 64);
  EXPECT_GE(passed, 2000);
  RecordProperty("problems", passed);
}

}  // namespace
}  // namespace cubejit
