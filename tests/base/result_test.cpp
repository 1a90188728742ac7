// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether failure travels as a value, and whether every code and stage has a name of its own.
#include "cubejit/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace cubejit {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return invalidInput(std::to_string(value) + " is odd", Stage::kPlan);
  return value / 2;
}

Result<int> quarter(int value) {
  CUBEJIT_TRY(once, half(value));
  CUBEJIT_TRY(twice, half(once));
  return twice;
}

TEST(Result, TryBindsTheValueOrReturnsTheFirstError) {
  ASSERT_TRUE(quarter(12).ok());
  EXPECT_EQ(*quarter(12), 3);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "3 is odd");
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalidProblem);
  EXPECT_EQ(failed.error().stage, Stage::kPlan);
}

TEST(Result, GivesUpValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> owner(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(owner).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, CodesAndStagesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const ErrorCode code : {ErrorCode::kInvalidProblem, ErrorCode::kUnsupported, ErrorCode::kNoFeasiblePlan,
                               ErrorCode::kLimitExceeded, ErrorCode::kIo, ErrorCode::kInternal}) {
    names.insert(toString(code));
  }
  EXPECT_EQ(names.size(), 6U);
  for (const Stage stage :
       {Stage::kProblem, Stage::kPlan, Stage::kTile, Stage::kVector, Stage::kEmit, Stage::kLoad, Stage::kRun}) {
    names.insert(toString(stage));
  }
  EXPECT_EQ(names.size(), 13U);
}

}  // namespace
}  // namespace cubejit
