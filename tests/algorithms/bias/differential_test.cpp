// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that db is exact for every type, layout, block size and number of channels, on every ISA level that runs here, for every
// candidate plan and for blocks of one vector; guarded memory, 1 and 3 threads (bit-identical).
#include <gtest/gtest.h>

#include "algorithms/bias/bias.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

constexpr PassMask kBias{false, false, true};

void verifyAllPlans(Session& session, const Problem& problem) {
  std::vector<BiasPlan> plans = biasCandidates(problem, session.machine());
  plans.push_back(plans.back());
  plans.back().registerVectors = 1;
  for (const BiasPlan& of : plans) {
    TilingPlan plan = of;
    plan.reorders.result = problem.dtype != DType::kF32;
    const VerifyOutcome outcome = verifyProblem(session, VerifyRequest{problem, kBias, {1, 3}, 7, false, {plan}});
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
        << outcome.message << "\n"
        << toFlags(problem) << " " << layoutText(problem) << "\n"
        << planToJson(plan);
  }
}

TEST(Bias, AllPlansAreRight) {
  for (const IsaLevel level : runnableIsas()) {
    Options options;
    options.isa = level;
    options.wakeCycles = 0;
    Session session(options);
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      for (const std::int64_t channels : {1, 7, 40, 200}) {
        Problem problem = squareProblem(3, 5, channels, 9);
        problem.dtype = dtype;
        for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
          problem.layout = layout;
          verifyAllPlans(session, problem);
        }
        problem.layout = Layout::kNdhwc;
        for (const std::int64_t c0 : {8, 16, 24, 48, 128, 256}) {
          TensorFormat& format = problem.formats[static_cast<std::size_t>(TensorId::kDy)].emplace();
          format.dtype = dtype;
          format.layout = Layout::kNdc1hwc0;
          format.c0 = c0;
          verifyAllPlans(session, problem);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cubejit
