// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that a program is forwarded only if each Mmad reads what single moves left in L0, whole and unspoiled.
#include "emulation/forward_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulation/operand_tables.h"

namespace cubejit {
namespace {

class ForwardRules : public ::testing::Test {
 protected:
  ForwardRules() {
    work_.c0 = 16;
    work_.elementBytes = 2;
  }
  std::string refused(const UnitProgram& program) const {
    const auto forwarded = forwardProgram(program, UnitContext{work_, tables_});
    return forwarded.ok() ? "" : forwarded.error().message;
  }
  static LoadFractals move(L0Side side, std::int64_t l0, std::int64_t x, std::int64_t y) {
    return {side, l0, 0, 256, {0, x}, {0, y}, false};
  }

  CubeWork work_;
  OperandTables tables_;
};

const Mmad kMmad{0, 0, 0, 2, 3, 1, true};  // 32 x 48 x 16

TEST_F(ForwardRules, MovesAndTheirMmadsAreForwardedLoadsAreNot) {
  const UnitProgram program{LoadPixels{}, move(L0Side::kA, 0, 32, 48), move(L0Side::kB, 0, 16, 48), kMmad, kMmad};
  const auto forwarded = forwardProgram(program, UnitContext{work_, tables_});
  ASSERT_TRUE(forwarded.ok()) << forwarded.error().message;
  ASSERT_EQ(forwarded->size(), program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    EXPECT_EQ((*forwarded)[i].instruction == program[i], true);
    EXPECT_EQ((*forwarded)[i].forwarded, i > 0);
  }
}

TEST_F(ForwardRules, OnlyAnImageWithOneReaderMayBeLeftOutInPart) {
  work_.tapsHw = 1;
  const Unfold image{L0Side::kA, 0, {}, {0, 32}, {0, 3}};
  const UnitContext context{work_, tables_};
  const auto readers = [&](const UnitProgram& program) {
    const auto forwarded = forwardProgram(program, context);
    std::int64_t count = 0;
    for (const ForwardStep& step : *forwarded) count += step.onlyReader ? 1 : 0;
    return count;
  };
  EXPECT_EQ(readers({image, move(L0Side::kB, 0, 16, 48), kMmad, image, move(L0Side::kB, 0, 16, 48), kMmad}), 6);
  EXPECT_EQ(readers({image, move(L0Side::kB, 0, 16, 48), kMmad, kMmad}), 0);  // two read it
  EXPECT_EQ(readers({move(L0Side::kB, 0, 16, 48), image, kMmad}), 0);         // B is there before it is known
  EXPECT_EQ(readers({move(L0Side::kA, 0, 32, 48), move(L0Side::kB, 0, 16, 48), kMmad}), 0);  // no image
}

TEST_F(ForwardRules, WhatNobodyMovedIsRefused) {
  EXPECT_THAT(refused({move(L0Side::kA, 0, 32, 48), kMmad}), ::testing::HasSubstr("reads L0 that no one move filled"));
  EXPECT_THAT(refused({move(L0Side::kA, 512, 32, 48), move(L0Side::kB, 0, 16, 48), kMmad}),
              ::testing::HasSubstr("mmad"));
}

TEST_F(ForwardRules, OtherFractalsAreRefused) {
  EXPECT_EQ(refused({move(L0Side::kA, 0, 32, 48), move(L0Side::kB, 0, 16, 48), kMmad}), "");
  EXPECT_NE(refused({move(L0Side::kA, 0, 48, 32), move(L0Side::kB, 0, 16, 48), kMmad}), "");  // as many bytes
  EXPECT_NE(refused({move(L0Side::kA, 0, 32, 48), move(L0Side::kB, 0, 32, 48), kMmad}), "");
  EXPECT_NE(
      refused({move(L0Side::kA, 0, 16, 48), move(L0Side::kA, 3 * 512, 16, 48), move(L0Side::kB, 0, 16, 48), kMmad}),
      "");  // two moves
}

TEST_F(ForwardRules, WhatIsPartlyOverwrittenIsRefused) {
  EXPECT_NE(refused({move(L0Side::kA, 0, 32, 48), move(L0Side::kB, 0, 16, 48), move(L0Side::kA, 512, 16, 16), kMmad}),
            "");
  EXPECT_EQ(
      refused({move(L0Side::kA, 0, 32, 48), move(L0Side::kB, 0, 16, 48), move(L0Side::kA, 6 * 512, 16, 16), kMmad}),
      "");
}

}  // namespace
}  // namespace cubejit
