// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that layers of known networks, made small, are computed right on emulated chips: every row of the suite, in the types it is
// used in, against the fp64 reference. `cubejit verify --soc` does the same with the rows as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit/machines.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/cases.h"
#include "tests/support/shrunk_problem.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Problem> suite() {
  auto problems = readSuite(std::string(CUBEJIT_SOURCE_DIR) + "/bench/shapes/ascend_networks.jsonl");
  EXPECT_TRUE(problems.ok());
  return problems.ok() ? *problems : std::vector<Problem>{};
}

// Returns the rows that the chip refuses, with the rule.
std::vector<std::string> verifyAll(const char* chip, std::initializer_list<DType> types) {
  const Machine machine = *machineByName(chip);
  std::vector<std::string> refused;
  std::size_t row = 0, passed = 0;
  for (const Problem& whole : suite()) {
    Problem p = shrunkProblem(whole, 2e6 / kTimesAsLong, 4e5);
    p.dtype = types.begin()[row++ % types.size()];
    EXPECT_TRUE(checkProblem(p).ok()) << p.name << ": " << checkProblem(p).error().message;
    VerifyRequest request{p, {true, true, true}, {1 + static_cast<int>(row % 3)}, row, false, {}};
    const VerifyOutcome outcome = verifyOnNpu(machine, Options{}, request, row % 2 == 0);
    if (outcome.verdict == Verdict::kSkipped)
      refused.push_back(whole.name + ": " + outcome.message);
    else
      EXPECT_EQ(outcome.verdict, Verdict::kPassed) << chip << " " << p.name << ": " << outcome.message << "\n"
                                                   << problemToJson(p);
    passed += outcome.verdict == Verdict::kPassed ? 1 : 0;
  }
  EXPECT_GT(passed, 80U);
  return refused;
}

// Two rows have strides that no chip's load unit has.
auto refusedForStrides() {
  return ElementsAre(HasSubstr("3DDW_StrideWMax: tensors of 2147483648 elements"),
                     HasSubstr("3DDW_SplitW0: stride.h = 64 must be at most 63"));
}

TEST(Networks, LayersMadeSmallOnAnA2) {
  EXPECT_THAT(verifyAll("ascend910b2", {DType::kF16, DType::kBf16, DType::kF32, DType::kHf32}), refusedForStrides());
}
TEST(Networks, LayersMadeSmallOnA310P) { EXPECT_THAT(verifyAll("ascend310p3", {DType::kF16}), refusedForStrides()); }
TEST(Networks, LayersMadeSmallOnA950) {
  EXPECT_THAT(verifyAll("ascend950pr_9599", {DType::kBf16, DType::kHf32Low, DType::kF16}),
              ElementsAre(HasSubstr("3DDW_StrideWMax: tensors of 2147483648 elements")));  // its strides have no limit
}

TEST(Networks, ShrinkingKeepsWhatIsOdd) {
  for (const Problem& whole : suite()) {
    const Problem p = shrunkProblem(whole, 2e6, 4e5);
    EXPECT_TRUE(checkProblem(p).ok()) << p.name;
    EXPECT_EQ(p.stride, whole.stride);
    EXPECT_EQ(p.dilation, whole.dilation);
    if (whole.stride.w < 1000) {
      EXPECT_LE(std::max({xElements(p), yElements(p), wElements(p)}), 400000) << p.name;
    }
    EXPECT_EQ(p.groups > 1, whole.groups > 1) << p.name;
    const Problem again = shrunkProblem(p, 2e6, 4e5);
    EXPECT_EQ(again.in, p.in);
  }
}

}  // namespace
}  // namespace cubejit
