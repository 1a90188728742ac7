// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of batches of more images than an axis should have steps, which are planes of fewer: is every pass right, by a plan of each algorithm,
// in every layout?
#include <gtest/gtest.h>

#include <vector>

#include "algorithms/algorithm.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/host.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

Problem imagesOf(std::int64_t channels, std::int64_t groups, const Dhw& in, const Dhw& kernel, std::int64_t stride) {
  Problem p;
  p.rank = 2;
  p.batch = (1 << 16) + 2;
  p.cin = p.cout = channels;
  p.groups = groups;
  p.in = in;
  p.kernel = kernel;
  for (int axis = 1; axis < 3; ++axis) {
    p.stride[axis] = in[axis] > 1 ? stride : 1;
    p.padBefore[axis] = p.padAfter[axis] = kernel[axis] / 2;
    p.out[axis] = (in[axis] + 2 * p.padBefore[axis] - kernel[axis]) / p.stride[axis] + 1;
  }
  return p;
}

TEST(ManyImages, ArePlanesOfFewer) {
  int turn = 0;
  for (const IsaLevel level : runnableIsas()) {
    Session session(eagerOptions(level));
    int verified = 0;
    for (Problem p : {imagesOf(1, 1, {1, 4, 4}, {1, 3, 3}, 1), imagesOf(3, 1, {1, 3, 5}, {1, 3, 2}, 2),
                      imagesOf(2, 2, {1, 1, 6}, {1, 1, 3}, 1), imagesOf(4, 1, {1, 2, 2}, {1, 1, 1}, 1)}) {
      constexpr Layout kLayouts[] = {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0};
      p.layout = kLayouts[turn++ % 3];
      p.dtype = turn % 2 == 0 ? DType::kBf16 : DType::kF32;
      for (const Algorithm* algorithm : algorithms()) {
        for (const TilingPlan& plan : proposedPlans(algorithm->name, p, algorithm->pass, session.machine())) {
          if (!checkPlan(p, plan, session.machine()).empty()) continue;
          const VerifyOutcome outcome = verifyProblem(session, {p, maskOf(algorithm->pass), {1, 2}, 5, false, {plan}});
          ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n"
                                                                      << toFlags(p) << "\n"
                                                                      << planToJson(plan);
          ++verified;
          break;
        }
      }
    }
    EXPECT_GT(verified, 10) << toString(level);
  }
}

}  // namespace
}  // namespace cubejit
