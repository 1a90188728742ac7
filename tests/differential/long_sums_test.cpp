// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of every algorithm that sums over pixels: do its sums keep their digits however many pixels there are? Equal positive terms are the
// worst data: every addition is rounded the same way. One chain of 2^20 of them is wrong by some per cent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/kit/chains.h"
#include "algorithms/kit/reorder.h"
#include "codegen/tile/element.h"
#include "cubejit/index_map.h"
#include "runtime/host/aligned_memory.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

std::vector<const Algorithm*> thatSumOverPixels() {
  std::vector<const Algorithm*> out;
  for (const Algorithm* a : algorithms()) {
    if (a->pass == Pass::kDw || a->pass == Pass::kDb) out.push_back(a);
  }
  return out;
}

class LongSums : public testing::TestWithParam<const Algorithm*> {};

Problem layer(std::int64_t batch, std::int64_t channels, Dhw pixels, Dhw taps, std::int64_t groups, Layout layout,
              DType type) {
  Problem p = problemOf(batch, channels, channels, pixels, taps, {taps.d / 2, taps.h / 2, taps.w / 2});
  p.rank = pixels.d > 1 ? 3 : 2;
  return ofType(type, ofGroups(groups, inLayout(layout, p)));
}

// Data is exact: chains, rows in pieces and groups of parts leave out nothing and take nothing twice.
TEST_P(LongSums, AddUpEveryProductOnce) {
  const Algorithm& algorithm = *GetParam();
  std::vector<Problem> problems;
  for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
    for (const DType type : {DType::kF32, DType::kBf16}) {
      problems.push_back(layer(1, 1, {1, 1, 40001}, {1, 1, 3}, 1, layout, type));
      problems.push_back(layer(1, 2, {1, 2, 33001}, {1, 3, 3}, 1, layout, type));
      problems.push_back(layer(3, 4, {5, 31, 47}, {3, 3, 1}, 4, layout, type));
      problems.push_back(layer(2, 3, {1, 90, 130}, {1, 3, 3}, 1, layout, type));
      problems.push_back(layer(2, 3, {1, 300, 270}, {1, 1, 1}, 1, layout, type));
    }
  }
  for (const IsaLevel level : runnableIsas()) {
    Session session(eagerOptions(level));
    int verified = 0;
    for (Problem p : problems) {
      for (const MathMode math : {MathMode::kStrict, MathMode::kRelaxed}) {
        p.math = math;
        std::mt19937_64 random(5);
        for (const TilingPlan& plan : someLegalPlans(algorithm, p, machineOfSmallL2(level), 2, random)) {
          ++verified;
          const VerifyRequest request{p, maskOf(algorithm.pass), {1, 2}, 7, math == MathMode::kRelaxed, {plan}};
          const VerifyOutcome outcome = verifyProblem(session, request);
          ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
              << outcome.message << "\ncubejit verify " << toFlags(p) << "\n"
              << planToJson(plan);
        }
      }
    }
    EXPECT_GT(verified, 10) << toString(level);
  }
}

// The tensor's element type, with every element `value`.
std::vector<char> filled(const Problem& p, TensorId t, float value) {
  const Element element = elementOf(formatOf(p, t).dtype);
  std::vector<char> bytes(static_cast<std::size_t>(formatBytes(p, t)));
  for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(elementBytes(element)))
    writeElement(element, bytes.data() + at, bitsOf(value));
  return bytes;
}

TEST_P(LongSums, KeepTheirDigits) {
  const Algorithm& algorithm = *GetParam();
  // Values whose products need all 24 bits, exact in the type.
  const float a = 0.703125F, b = 0.83984375F;
  std::vector<Problem> problems;
  for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
    for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
      problems.push_back(layer(1, 1, {1, 1, 1 << 21}, {1, 1, 1}, 1, layout, type));
      problems.push_back(layer(1, 1, {1, 3, 700000}, {1, 1, 1}, 1, layout, type));
      problems.push_back(layer(1, 3, {1, 1000, 700}, {1, 1, 1}, 3, layout, type));
      problems.push_back(layer(4, 2, {80, 80, 60}, {3, 1, 1}, 1, layout, type));
    }
  }
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16, IsaLevel::kAvx512Amx}) {
    if (!hostRuns(level)) continue;
    Session session(eagerOptions(level));
    int summed = 0;
    for (Problem p : problems) {
      for (const TensorId t : {TensorId::kDw, TensorId::kDb})
        p.formats[static_cast<std::size_t>(t)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}};
      const std::vector<char> dy = filled(p, TensorId::kDy, a), x = filled(p, TensorId::kX, b);
      std::vector<float> dw(static_cast<std::size_t>(p.cin / p.groups * p.cout * p.kernel.volume())),
          db(static_cast<std::size_t>(p.cout));
      std::mt19937_64 random(11);
      for (const TilingPlan& plan : someLegalPlans(algorithm, p, hostOf(level), 3, random)) {
        const auto compiled = session.compile(CompileRequest{p, maskOf(algorithm.pass), {plan}});
        ASSERT_TRUE(compiled.ok()) << compiled.error().message << planToJson(plan);
        const AlignedMemory workspace = alignedMemory((*compiled)->workspaceBytes());
        const Status done = (*compiled)->run({dy.data(), x.data(), nullptr, nullptr, dw.data(), db.data()},
                                             workspace.get(), (*compiled)->workspaceBytes());
        ASSERT_TRUE(done.ok()) << done.error().message;
        ++summed;
        const bool weights = algorithm.pass == Pass::kDw;
        const auto pixels = static_cast<double>(p.batch * p.out.volume()),
                   // The middle tap meets every pixel.
            expected =
                weights ? pixels * static_cast<double>(a) * static_cast<double>(b) : pixels * static_cast<double>(a);
        const double sum = weights ? static_cast<double>(dw[static_cast<std::size_t>(p.kernel.volume() / 2)])
                                   : static_cast<double>(db[0]);
        EXPECT_LT(std::fabs(sum - expected) / expected, 1e-5) << sum << " is not " << expected << "\n"
                                                              << toFlags(p) << "\n"
                                                              << planToJson(plan);
      }
    }
    EXPECT_TRUE(summed > 3 || std::string(algorithm.name) == "winograd") << toString(level);
  }
}

TEST(Chains, BlocksAndPartsHaveABound) {
  EXPECT_EQ((PartialSums{100, 512}).leastParts(), 1);
  EXPECT_EQ((PartialSums{128, 512}).leastParts(), 1);
  EXPECT_EQ((PartialSums{129, 512}).leastParts(), 2);
  EXPECT_EQ((PartialSums{575, 64}).leastParts(), 1);
  EXPECT_EQ((PartialSums{1, 64 * 512}).mostBlocks(), 2);
  EXPECT_EQ((PartialSums{1, 200 * 512}).mostBlocks(), 0);
}

INSTANTIATE_TEST_SUITE_P(Table, LongSums, testing::ValuesIn(thatSumOverPixels()), algorithmTestName);

}  // namespace
}  // namespace cubejit
