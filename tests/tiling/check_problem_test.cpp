// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the rules of a problem: each broken one is named with its values, all at once, without overflow.
#include "tiling/check_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "runtime/verify/random_problem.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

// 3 x 3 x 3, padded: y has the extent of x.
Problem plain() { return ofGroups(2, problemOf(2, 6, 4, {5, 6, 7}, {3, 3, 3}, {1, 1, 1})); }

std::string broken(const Problem& p) {
  const Status status = checkProblem(p);
  return status.ok() ? "" : status.error().message;
}

TEST(CheckProblem, AcceptsWhatFollowsTheFormulas) {
  EXPECT_EQ(broken(plain()), "");
  Problem p = plain();
  p.batch = 0;
  EXPECT_EQ(broken(p), "") << "an empty batch is legal";
  p = plain();
  p.stride = Dhw{2, 2, 2};
  p.out = Dhw{3, 3, 4};
  EXPECT_EQ(broken(p), "");
  p = plain();
  p.kernel = Dhw{6, 6, 6};  // larger than the depth
  p.padAfter = Dhw{4, 4, 4};
  EXPECT_EQ(broken(p), "");
}

TEST(CheckProblem, EveryFieldBelowItsLeastIsNamedWithItsValue) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-3}, kLeast}) {
    const std::string shown = " = " + std::to_string(value) + " must be at least 1";
    Problem p = plain();
    p.groups = p.cin = p.cout = value;
    p.in = p.kernel = p.out = p.stride = p.dilation = Dhw{value, value, value};
    const std::string message = broken(p);
    for (const char* field : {"groups", "cin", "cout", "in.d", "in.h", "in.w", "kernel.d", "kernel.w", "out.d", "out.h",
                              "stride.d", "stride.w", "dilation.h"}) {
      EXPECT_THAT(message, HasSubstr(field + shown));
    }
  }
  Problem p = plain();
  p.batch = -1;
  p.padBefore.h = -2;
  EXPECT_THAT(broken(p), HasSubstr("batch = -1 must be at least 0"));
  EXPECT_THAT(broken(p), HasSubstr("pad_before.h = -2 must be at least 0"));
}

TEST(CheckProblem, RulesOfDifferentKindsAreReportedTogether) {
  Problem p = plain();
  p.groups = 4;
  p.stride.d = 0;
  p.out.w = 9;
  const std::string message = broken(p);
  EXPECT_THAT(message, HasSubstr("cin = 6 is not divisible by groups = 4"));
  EXPECT_THAT(message, HasSubstr("stride.d = 0 must be at least 1"));
  EXPECT_THAT(message, HasSubstr("out.w = 9 does not follow from the input; it must be 7"));
}

TEST(CheckProblem, TransposedAllowsOutputPaddingBelowStrideOrDilation) {
  Problem p = plain();
  p.transposed = true;
  p.stride = Dhw{3, 1, 1};
  p.dilation = Dhw{1, 2, 1};
  const std::int64_t least[] = {(5 - 1) * 3 - 2 + 2 + 1, (6 - 1) - 2 + 4 + 1, (7 - 1) - 2 + 2 + 1}, most[] = {2, 1, 0};
  for (int a = 0; a < 3; ++a) {
    for (std::int64_t extra = -1; extra <= most[a] + 1; ++extra) {
      p.out = Dhw{least[0], least[1], least[2]};
      p.out[a] += extra;
      EXPECT_EQ(checkProblem(p).ok(), extra >= 0 && extra <= most[a]) << "axis " << a << ", output padding " << extra;
    }
  }
}

TEST(CheckProblem, AxesTheRankDoesNotHaveStayNeutral) {
  Problem p = plain();
  p.rank = 2;
  EXPECT_THAT(broken(p), HasSubstr("rank = 2 has no axis d"));
  for (const int rank : {0, 4, -1}) {
    p.rank = rank;
    EXPECT_THAT(broken(p), HasSubstr("rank = " + std::to_string(rank) + " must be 1, 2 or 3"));
  }
}

TEST(CheckProblem, KernelLargerThanThePaddedInputNamesTheFix) {
  Problem p = plain();
  p.dilation.w = 5;  // reaches over 11 of 9
  EXPECT_THAT(broken(p),
              HasSubstr("is larger than the padded input, 9, on axis w; raise the padding to at least 4 in sum"));
}

TEST(CheckProblem, SizesAndStepsNearTheEndOf64Bits) {
  for (const std::int64_t value : {kMost, kMost - 5, std::int64_t{1} << 40}) {
    Problem p = plain();
    p.stride.d = value;
    EXPECT_THAT(broken(p), HasSubstr("stride.d = " + std::to_string(value) + " must be at most 2^31 - 1"));
    p = plain();
    p.padBefore.w = p.padAfter.w = value;
    EXPECT_THAT(broken(p), HasSubstr("pad_after.w = " + std::to_string(value)));
    p = plain();
    p.kernel.h = value;
    EXPECT_THAT(broken(p), HasSubstr("axis h"));
    p = plain();
    p.in.h = p.out.h = value;
    EXPECT_THAT(broken(p), HasSubstr("2^47"));
  }
  Problem p = plain();  // no single factor is large, and the batch is empty
  p.batch = 0;
  p.cin = p.cout = p.in.d = p.out.d = p.in.h = p.out.h = p.in.w = p.out.w = 1 << 20;
  const std::string message = broken(p);
  EXPECT_THAT(message, HasSubstr("x takes 4 x 0 x 1048576 x 1048576 x 1048576 x 1048576 bytes, more than the 2^47"));
  EXPECT_THAT(message, HasSubstr("y takes"));
}

// Any values at all: no overflow (the sanitizer build watches), and what passes has sizes that can be multiplied.
TEST(CheckProblem, ArbitraryValuesNeverOverflow) {
  std::mt19937_64 random(5);
  const auto value = [&] {
    const std::int64_t picks[] = {
        0, 1, 2, 3, 7, 1 << 16, std::int64_t{1} << 31, kMost, kLeast, -1, static_cast<std::int64_t>(random())};
    return picks[random() % std::size(picks)];
  };
  std::mt19937_64 base(6);
  for (int i = 0; i < 20000; ++i) {
    Problem p = randomProblem(base);
    for (int changes = 0; changes < 2; ++changes) {
      Dhw* const fields[] = {&p.in, &p.out, &p.kernel, &p.stride, &p.dilation, &p.padBefore, &p.padAfter};
      std::int64_t* const scalars[] = {&p.batch, &p.groups, &p.cin, &p.cout};
      if (random() % 3 == 0)
        *scalars[random() % 4] = value();
      else
        (*fields[random() % 7])[static_cast<int>(random() % 3)] = value();
    }
    if (!checkProblem(p).ok()) continue;
    EXPECT_LE(xElements(p), std::int64_t{1} << 45);
    EXPECT_LE(yElements(p), std::int64_t{1} << 45);
    EXPECT_LE(wElements(p), std::int64_t{1} << 45);
  }
}

// How tensors lie that the passes neither read nor write is nobody's business.
TEST(SeenBy, WhatPassesDoNotTouchIsNotLookedAt) {
  const auto at = [](TensorId t) { return static_cast<std::size_t>(t); };
  TensorFormat strange{DType::kF32, Layout::kNdc1hwc0, {-1, kMost, 1, 1, 1}, -5};
  for (int bits = 1; bits < 16; ++bits) {
    const PassMask passes{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
    for (const TensorId t : kTensorIds) {
      if (t == TensorId::kDb) continue;  // is dense, whatever it says
      Problem p = plain();
      p.formats[at(t)] = strange;
      bool touched = passes.reads(t);
      for (const Pass pass : kPasses) touched = touched || (passes.has(pass) && resultOf(pass) == t);
      EXPECT_NE(broken(p), "");
      EXPECT_EQ(broken(seenBy(p, passes)) == "", !touched) << toString(t) << " of passes " << bits;
    }
  }
}

TEST(SeenBy, LegalDenseFormatsStay) {
  Problem p = plain();
  for (const TensorId t : kTensorIds)
    p.formats[static_cast<std::size_t>(t)] = TensorFormat{DType::kF16, Layout::kNcdhw, {}};
  for (const Pass pass : kPasses) EXPECT_EQ(seenBy(p, maskOf(pass)), p);
  p.formats[static_cast<std::size_t>(TensorId::kX)]->broadcast = true;
  EXPECT_EQ(seenBy(p, maskOf(Pass::kDw)), p);
  EXPECT_NE(seenBy(p, maskOf(Pass::kDx)), p);
}

TEST(ErrorNames, AreStable) {
  EXPECT_STREQ(toString(ErrorCode::kInvalidProblem), "invalid_problem");
  EXPECT_STREQ(toString(ErrorCode::kIo), "io");
  EXPECT_STREQ(toString(Stage::kPlan), "plan");
}

}  // namespace
}  // namespace cubejit
