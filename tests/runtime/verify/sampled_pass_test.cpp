// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether sampled elements agree with the whole reference, and whether a wrong result is found by a sample.
#include "runtime/verify/sampled_pass.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"

namespace cubejit {
namespace {

TEST(SampledPass, AgreesWithTheWholeReferenceOnRandomProblems) {
  std::mt19937_64 random(3);
  std::size_t compared = 0;
  for (int round = 0; round < 150; ++round) {
    const Problem p = randomProblem(random);
    const auto dy = randomIntegers(random, yElements(p), 1), x = randomIntegers(random, xElements(p), 1),
               w = randomIntegers(random, wElements(p), 1);
    const ReferenceResults whole = referenceResults(p, {true, true, true}, dy, x, w);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto& values = pass == Pass::kDx ? whole.dx : pass == Pass::kDw ? whole.dw : whole.db;
      const auto& bounds = pass == Pass::kDx ? whole.dxBound : pass == Pass::kDw ? whole.dwBound : whole.dbBound;
      for (const SampledElement& e : sampledPass(p, pass, 1e4, 5, dy, x, w)) {
        ASSERT_LT(e.index, values.size());
        ASSERT_EQ(e.value, values[e.index]) << toString(pass) << " of problem " << round << ", element " << e.index;
        ASSERT_EQ(e.bound, bounds[e.index]);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 5000U);
}

TEST(SampledPass, TakesTheEndsAndNoMoreThanItMayAfford) {
  Problem p;
  p.rank = 1;
  p.cin = p.cout = 8;
  p.in = p.out = {1, 1, 1000};
  const std::vector<float> dy(8000, 1), x(8000, 1), w(64, 1);
  const auto sample = sampledPass(p, Pass::kDx, 800, 1, dy, x, w);  // 8 multiply-adds an element
  ASSERT_EQ(sample.size(), 100U);
  EXPECT_EQ(sample[0].index, 0U);
  EXPECT_EQ(sample[1].index, 7999U);
  EXPECT_EQ(sampledPass(p, Pass::kDw, 1, 1, dy, x, w).size(), 16U);
  EXPECT_EQ(sampledPass(p, Pass::kDb, 1e9, 1, dy, x, w).size(), 8U);
  // A stride of 4 leaves one of 4 taps.
  p.kernel.w = p.stride.w = 4;
  p.out.w = 250;
  const std::vector<float> taps(256, 1);
  EXPECT_EQ(sampledPass(p, Pass::kDx, 800, 1, std::vector<float>(2000, 1), x, taps).size(), 100U);
}

}  // namespace
}  // namespace cubejit
