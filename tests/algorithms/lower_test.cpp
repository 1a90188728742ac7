// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that lowering any legal plan of any problem gives a sound TileProgram that computes the fp64 reference exactly.
// Leaves everything below the TileProgram to the differential tests.
#include "algorithms/lower.h"
#include "algorithms/kit/lower/tensor_binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <variant>
#include <vector>

#include "codegen/tile/interpret_program.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "tests/support/host.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

class Lower : public testing::TestWithParam<IsaLevel> {};

TEST_P(Lower, AnyLegalPlanEqualsTheReference) {
  const Machine machine = hostOf(GetParam());
  std::mt19937_64 random(GetParam() == IsaLevel::kAvx2 ? 21 : 22);
  int plans = 0;
  for (int i = 0; i < 75; ++i) {
    const Problem p = randomProblem(random, 2e4);
    const double summands =
        static_cast<double>(p.batch * (p.cin + p.cout) * p.kernel.volume() * (p.out.volume() + p.in.volume()));
    const std::vector<float> dy = randomIntegers(random, yElements(p), summands),
                             x = randomIntegers(random, xElements(p), summands),
                             w = randomIntegers(random, wElements(p), summands);
    const ReferenceResults want = referenceResults(p, PassMask{true, true, true}, dy, x, w);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(p, pass, machine, true);
      ASSERT_TRUE(choice.ok()) << choice.error().message;
      const std::vector<double>& right = pass == Pass::kDx ? want.dx : pass == Pass::kDw ? want.dw : want.db;
      for (int pick = 0; pick < 3; ++pick) {
        const Candidate& candidate = choice->considered[pick == 0 ? 0 : random() % choice->considered.size()];
        if (!candidate.refusedBy.empty()) continue;
        const std::string where = problemToJson(p) + "\n" + planToJson(candidate.plan);
        const auto program = lower(p, candidate.plan, machine);
        ASSERT_TRUE(program.ok()) << program.error().message << "\n" << where;
        std::vector<float> got(right.size(), -77.0F);
        Tensors tensors{dy.data(), x.data(), w.data(), nullptr, nullptr, nullptr};
        (pass == Pass::kDx ? tensors.dx : pass == Pass::kDw ? tensors.dw : tensors.db) = got.data();
        const Status status = interpret(*program, TensorBinding(*program).bind(tensors));
        ASSERT_TRUE(status.ok()) << status.error().message << "\n" << where;
        for (std::size_t e = 0; e < got.size(); ++e)
          ASSERT_EQ(static_cast<double>(got[e]), right[e]) << toString(pass) << "[" << e << "]\n" << where;
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, 300);
}

INSTANTIATE_TEST_SUITE_P(Isa, Lower, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512),
                         [](const auto& info) { return toString(info.param); });

}  // namespace
}  // namespace cubejit
