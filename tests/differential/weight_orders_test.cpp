// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of every order that weights may lie in: are passes right that read or write them there, and does the order cost nothing that a plan
// has, dot products above all? Orders are all permutations of w's axes, with gaps and without, and channels-last w and dw.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "cubejit/index_map.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr std::array kWeightTypes{DType::kBf16, DType::kF32, DType::kF16};

std::size_t below(std::mt19937_64& random, std::size_t n) { return random() % n; }

void layChannelsLast(Problem& p, TensorId t) {
  p.formats[static_cast<std::size_t>(t)] = TensorFormat{formatOf(p, t).dtype, Layout::kNdhwc, {}};
}

// The axes of w in an order of their own, each up to `gap` elements longer than it is.
void permute(std::mt19937_64& random, Problem& p, std::size_t gap) {
  std::array<std::size_t, 5> innermostFirst{0, 1, 2, 3, 4};
  std::shuffle(innermostFirst.begin(), innermostFirst.end(), random);
  TensorFormat f = formatOf(p, TensorId::kW);
  const IndexMap map = indexMap(p, TensorId::kW);
  std::int64_t stride = 1;
  for (const std::size_t axis : innermostFirst) {
    f.strides[axis] = stride;
    stride *= map.digits[axis][0].extent + static_cast<std::int64_t>(below(random, gap + 1));
  }
  p.formats[static_cast<std::size_t>(TensorId::kW)] = f;
}

void layInAnyOrder(std::mt19937_64& random, Problem& p, std::size_t gap) {
  if (below(random, 3) == 0)
    layChannelsLast(p, TensorId::kW);
  else
    permute(random, p, gap);
  layChannelsLast(p, TensorId::kDw);
}

Problem convolution(std::int64_t channels, std::int64_t taps) {
  return ofType(DType::kBf16, squareProblem(8, channels, channels, 56, taps));
}

// Channels-last weights of bf16 took twice as long as plain ones.
TEST(WeightOrders, ChannelsLastWeightsKeepDotProducts) {
  const Machine machine = machineOfSmallL2(IsaLevel::kAvx512Bf16);
  for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
    for (const Pass pass : {Pass::kY, Pass::kDx, Pass::kDw}) {
      Problem p = convolution(64, 3);
      p.layout = layout;
      layChannelsLast(p, TensorId::kW);
      layChannelsLast(p, TensorId::kDw);
      const auto choice = choosePlan(p, pass, machine, false);
      ASSERT_TRUE(choice.ok()) << choice.error().message;
      EXPECT_EQ(fieldOf(choice->plan, "dot_products"), 1) << toString(pass) << " " << toString(layout);
      EXPECT_FALSE(choice->plan.reorders.w || choice->plan.reorders.result) << planToJson(choice->plan);
    }
  }
}

// Whatever plain weights are planned as: but for kernels that read them in place, which takes neighbours.
TEST(WeightOrders, PlansAreThoseOfPlainWeights) {
  std::mt19937_64 random(55);
  std::map<DType, int> compared;
  for (int i = 0; i < 240; ++i) {
    const Machine machine = machineOfSmallL2(i % 2 == 0 ? IsaLevel::kAvx512Bf16 : IsaLevel::kAvx2);
    Problem plain = randomProblem(random, 3e5);
    if (i % 4 == 3) fitRelaxedMath(random, plain);
    plain.dtype = kWeightTypes[below(random, 3)];
    Problem ordered = plain;
    layInAnyOrder(random, ordered, 0);
    for (const Pass pass : {Pass::kY, Pass::kDx, Pass::kDw}) {
      const auto expected = choosePlan(plain, pass, machine, false), chosen = choosePlan(ordered, pass, machine, false);
      ASSERT_TRUE(expected.ok() && chosen.ok()) << toFlags(plain);
      const bool reads = planToJson(expected->plan).find("\"pack_b\":\"none\"") != std::string::npos;
      if (reads && pass != Pass::kDw) continue;
      ++compared[plain.dtype];
      ASSERT_EQ(planToJson(chosen->plan), planToJson(expected->plan)) << toFlags(plain);
      ASSERT_EQ(chosen->cost.totalCycles, expected->cost.totalCycles) << toFlags(plain);
    }
  }
  for (const DType type : kWeightTypes) EXPECT_GT(compared[type], 150) << toString(type);
}

class OrdersOfAlgorithm : public testing::TestWithParam<const Algorithm*> {};

TEST_P(OrdersOfAlgorithm, PlansAreRight) {
  const Algorithm& algorithm = *GetParam();
  if (algorithm.pass == Pass::kDb) GTEST_SKIP() << "db has no weights";
  const TensorId weights = algorithm.pass == Pass::kDx ? TensorId::kW : TensorId::kDw;
  for (const IsaLevel level : runnableIsas()) {
    Session session(eagerOptions(level));
    const Machine machine = machineOfSmallL2(level);
    std::mt19937_64 random(56);
    int inPlace = 0, dots = 0;
    for (int i = 0; i < 360; ++i) {
      Problem p = randomProblem(random, 2e5);
      if (i % 2 == 1) fitRelaxedMath(random, p);
      p.dtype = kWeightTypes[i / 2 % 3];
      layInAnyOrder(random, p, below(random, 2));
      for (const TilingPlan& plan : someLegalPlans(algorithm, p, machine, 3, random)) {
        inPlace += (weights == TensorId::kW ? plan.reorders.w : plan.reorders.result) ? 0 : 1;
        dots += fieldOf(plan, "dot_products") == 1 ? 1 : 0;
        VerifyRequest request{
            p, maskOf(algorithm.pass), {1, 2}, static_cast<std::uint64_t>(i), p.math == MathMode::kRelaxed, {plan}};
        const VerifyOutcome outcome = verifyProblem(session, request);
        ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
            << outcome.message << "\n"
            << toFlags(p) << "\n"
            << planToJson(plan) << "\nstrides of w: " << testing::PrintToString(formatOf(p, TensorId::kW).strides);
      }
    }
    EXPECT_GT(inPlace, 5) << toString(level);
    const bool pairs = level == IsaLevel::kAvx512Bf16 && fieldOf(algorithm.plan(), "dot_products") >= 0;
    EXPECT_TRUE(!pairs || dots > 5) << dots;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OrdersOfAlgorithm, testing::ValuesIn(algorithms()), algorithmTestName);

}  // namespace
}  // namespace cubejit
