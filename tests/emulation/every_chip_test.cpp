// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every chip computes gradients in every type of its cube: more than 5,000 random problems, dX, dW and db of each, every
// element equal to the fp64 reference's, the same bits on one, two and three host threads.
#include <gtest/gtest.h>

#include "cubejit/index_map.h"
#include "cubejit/machines.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/cases.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

TEST(EveryChip, RandomProblemsInEveryType) {
  std::mt19937_64 random(31);
  constexpr int kProblems = casesOf(36);  // of each chip and type
  int chips = 0, passed = 0;
  Options options;
  options.sanitize = true;  // and finds nothing
  for (const std::string& name : machineNames()) {
    const Machine machine = *machineByName(name);
    if (!machine.isEmulated()) continue;
    ++chips;
    for (const MatrixProduct& step : machine.npu.cube.products) {
      for (int i = 0; i < kProblems; ++i) {
        Problem p = randomProblem(random, 5e4);
        p.batch = std::max<std::int64_t>(1, p.batch);
        p.dtype = step.operand;
        if (i % 3 == 0) randomFormats(random, p, false, true);
        const PassMask mask = i % 2 == 0 ? PassMask{true, true, true} : PassMask{false, true, false, true};
        const VerifyRequest request{p, mask, {1, 2, 3}, static_cast<std::uint64_t>(i), false, {}};
        const bool fast = i % 9 == 0;  // with its proof, which interpreters make: most of the test's time
        const VerifyOutcome outcome = verifyOnNpu(machine, options, request, fast);
        EXPECT_NE(outcome.verdict, Verdict::kFailed)
            << outcome.message << "\ncubejit verify --soc " << name << " " << toFlags(p);
        passed += outcome.verdict == Verdict::kPassed ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(chips, 64);
  EXPECT_GE(passed, casesOf(5000));
  RecordProperty("problems", passed);
}

// Real groups that begin inside a block of the layout: what one writes is no other's, and nothing behind the tensor. Programs are
// verified.
TEST(EveryChip, GroupsThatAreNoWholeBlocks) {
  std::mt19937_64 random(33);
  Options options;
  options.verify = true;
  int passed = 0;
  for (int i = 0; passed < casesOf(120); ++i) {
    Problem p = randomProblem(random, 2e4);
    p.batch = std::max<std::int64_t>(1, p.batch);
    p.groups = 2 + static_cast<std::int64_t>(random() % 30);
    p.cin = p.groups * (1 + static_cast<std::int64_t>(random() % 12));
    p.cout = p.groups * (1 + static_cast<std::int64_t>(random() % 12));
    const bool wide = i % 2 == 0;
    const std::int64_t c0 = wide ? 8 : 16, block = wide ? 16 : 32, big = p.cin / p.groups;
    const RealGroups real = realGroups(big, p.cout / p.groups, p.groups, c0);
    if (real.count < 2 || real.together * big % block == 0) continue;
    p.dtype = wide ? DType::kF32 : DType::kF16;
    for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kDx})
      p.formats[static_cast<std::size_t>(t)] = TensorFormat{p.dtype, Layout::kNdc1hwc0, {}, block};
    const VerifyRequest request{p, {true, true, true}, {1, 2}, static_cast<std::uint64_t>(i), false, {}};
    const VerifyOutcome outcome =
        verifyOnNpu(*machineByName(wide || i % 4 == 1 ? "ascend950dt_95a2" : "ascend310p3"), options, request, false);
    EXPECT_NE(outcome.verdict, Verdict::kFailed) << outcome.message << "\ncubejit verify " << toFlags(p);
    passed += outcome.verdict == Verdict::kPassed ? 1 : 0;
  }
}

}  // namespace
}  // namespace cubejit
