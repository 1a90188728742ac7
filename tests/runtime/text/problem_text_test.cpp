// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of problem flags and benchdnn descriptors: the same problem however it is spelled, and clear refusals.
#include "runtime/text/problem_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "runtime/verify/random_problem.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

ProblemFlags flags(const char* input, const char* weight) {
  ProblemFlags f;
  f.input = input;
  f.weight = weight;
  return f;
}

std::string flagsRefusal(const ProblemFlags& f) {
  const auto p = parseProblemFlags(f);
  return p.ok() ? "" : p.error().message;
}

std::string prbRefusal(const std::string& text) {
  const auto p = parsePrb(text);
  return p.ok() ? "" : p.error().message;
}

TEST(ProblemFlags, DefaultsAndOneValueForAllAxes) {
  ProblemFlags f = flags("1,64,16,16,16", "32,16,3,3,3");
  f.groups = 4;
  f.padding = "1";
  f.stride = "2";
  const auto p = parseProblemFlags(f);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p->rank, 3);
  EXPECT_EQ(p->cin, 64);
  EXPECT_EQ(p->cout, 32);
  EXPECT_EQ(p->out, (Dhw{8, 8, 8}));
  EXPECT_EQ(p->dilation, (Dhw{1, 1, 1}));
  EXPECT_EQ(p->padAfter, (Dhw{1, 1, 1}));
}

TEST(ProblemFlags, PaddingPerAxisAndBeforeAndAfter) {
  ProblemFlags f = flags("2,3,8,9", "4,3,3,3");
  f.padding = "1,2";
  auto p = parseProblemFlags(f);
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->padBefore, (Dhw{0, 1, 2}));
  EXPECT_EQ(p->padAfter, (Dhw{0, 1, 2}));
  f.padding = "1,0,2,3";
  p = parseProblemFlags(f);
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->padBefore, (Dhw{0, 1, 2}));
  EXPECT_EQ(p->padAfter, (Dhw{0, 0, 3}));
  EXPECT_EQ(p->out, (Dhw{1, 7, 12}));
}

TEST(ProblemFlags, TransposedWeightsAreInputChannelsFirst) {
  ProblemFlags f = flags("1,6,5", "6,4,3");
  f.transposed = true;
  f.groups = 2;
  f.stride = "2";
  f.outputPadding = "1";
  const auto p = parseProblemFlags(f);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p->rank, 1);
  EXPECT_EQ(p->cout, 8);
  EXPECT_EQ(p->out.w, 4 * 2 + 2 + 1 + 1);
}

TEST(ProblemFlags, RefusalsNameEveryFlagThatIsWrong) {
  EXPECT_THAT(flagsRefusal(flags("", "")),
              testing::AllOf(HasSubstr("--input is missing"), HasSubstr("--weight is missing")));
  EXPECT_THAT(flagsRefusal(flags("1,2", "3,4")), HasSubstr("--input = 1,2 has 2 values"));
  EXPECT_THAT(flagsRefusal(flags("1,2,3", "3,2,1,1")), HasSubstr("must have the same rank"));
  EXPECT_THAT(flagsRefusal(flags("1,2,x", "3,2,1")), HasSubstr("--input = '1,2,x'"));
  EXPECT_THAT(flagsRefusal(flags("1,2,3,", "3,2,1,1")), HasSubstr("--input"));
  EXPECT_THAT(flagsRefusal(flags("1,2,9223372036854775808", "3,2,1")), HasSubstr("2^63 - 1"));
  EXPECT_THAT(flagsRefusal(flags("1,5,3", "4,2,1")), HasSubstr("is not --input's 5"));
  ProblemFlags f = flags("1,4,8,8", "4,4,3,3");
  f.stride = "1,1,1";
  f.padding = "1,1,1";
  f.dilation = "a";
  f.outputPadding = "1";
  EXPECT_THAT(flagsRefusal(f),
              testing::AllOf(HasSubstr("--stride = 1,1,1 has 3 values"), HasSubstr("--padding = 1,1,1 has 3 values"),
                             HasSubstr("--dilation = 'a'"), HasSubstr("--output-padding needs --transposed")));
  f = flags("1,4,8,8", "4,4,3,3");
  f.groups = 0;
  f.stride = "0,-1";
  f.dilation = "0";
  f.padding = "1,2,3";
  EXPECT_THAT(flagsRefusal(f), testing::AllOf(HasSubstr("--padding = 1,2,3"), HasSubstr("groups = 0"),
                                              HasSubstr("stride.h = 0 must be at least 1"), HasSubstr("stride.w = -1"),
                                              HasSubstr("dilation.h = 0")));
  f = flags("1,5,8", "4,4,3");
  f.groups = 3;
  EXPECT_THAT(flagsRefusal(f),
              testing::AllOf(HasSubstr("is not --input's 5"), HasSubstr("cin = 5 is not divisible by groups = 3"),
                             HasSubstr("cout = 4 is not divisible by groups = 3")));
}

TEST(ProblemFlags, HugeValuesReachTheCheckInsteadOfOverflowing) {
  const char* const huge = "9223372036854775807";
  for (const bool transposed : {false, true}) {
    for (const char* field : {"in", "kernel", "stride", "padding", "dilation"}) {
      ProblemFlags f = flags("1,4,8,8", "4,4,3,3");
      f.transposed = transposed;
      const std::string name = field;
      if (name == "in") f.input = std::string("1,4,8,") + huge;
      if (name == "kernel") f.weight = std::string("4,4,3,") + huge;
      if (name == "stride") f.stride = huge;
      if (name == "padding") f.padding = huge;
      if (name == "dilation") f.dilation = huge;
      const auto p = parseProblemFlags(f);
      ASSERT_TRUE(p.ok()) << field;
      EXPECT_FALSE(checkProblem(*p).ok()) << field;
      EXPECT_FALSE(toFlags(*p).empty());
    }
  }
  ProblemFlags f = flags("1,4,8,-9223372036854775808", "4,4,3,-9223372036854775808");
  const auto p = parseProblemFlags(f);
  ASSERT_TRUE(p.ok());
  EXPECT_FALSE(checkProblem(*p).ok());
}

// toFlags of any problem, split and parsed again, is the same problem.
TEST(ProblemFlags, ReproductionLinesReadBack) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const Problem p = randomProblem(random);
    std::istringstream words(toFlags(p));
    ProblemFlags f;
    std::string layout;
    for (std::string word; words >> word;) {
      if (word == "--transposed") {
        f.transposed = true;
        continue;
      }
      std::string value;
      ASSERT_TRUE(words >> value) << word;
      if (word == "--input")
        f.input = value;
      else if (word == "--weight")
        f.weight = value;
      else if (word == "--stride")
        f.stride = value;
      else if (word == "--padding")
        f.padding = value;
      else if (word == "--dilation")
        f.dilation = value;
      else if (word == "--output-padding")
        f.outputPadding = value;
      else if (word == "--groups")
        f.groups = std::stoll(value);
      else if (word == "--layout")
        layout = value;
      else
        FAIL() << word;
    }
    auto back = parseProblemFlags(f);
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_TRUE(applyFormats(*back, "", layout).ok());
    EXPECT_TRUE(*back == p) << toFlags(p);
  }
}

TEST(Prb, LowerAxesCopyTheHigherOneAndDilationCountsFromZero) {
  const auto p = parsePrb("mb1ic64id16oc64kd3pd1");
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p->rank, 3);
  EXPECT_EQ(p->batch, 1);
  EXPECT_EQ(p->in, (Dhw{16, 16, 16}));
  EXPECT_EQ(p->kernel, (Dhw{3, 3, 3}));
  EXPECT_EQ(p->out, (Dhw{16, 16, 16}));
  const auto q = parsePrb("g2_mb3_ic8ih10iw12_oc6oh5ow5_kh3kw4_sh2sw2_ph1pw0_dh0dw1_n\"two d\"");
  ASSERT_TRUE(q.ok()) << q.error().message;
  EXPECT_EQ(q->name, "two d");
  EXPECT_EQ(q->rank, 2);
  EXPECT_EQ(q->groups, 2);
  EXPECT_EQ(q->in, (Dhw{1, 10, 12}));
  EXPECT_EQ(q->kernel, (Dhw{1, 3, 4}));
  EXPECT_EQ(q->dilation, (Dhw{1, 1, 2})) << "dw1 is one zero between taps";
  EXPECT_EQ(q->padBefore, (Dhw{0, 1, 0}));
  EXPECT_EQ(q->padAfter, (Dhw{0, 0, 3})) << "what the given output needs";
  EXPECT_EQ(q->batch, 3);
  const auto line = parsePrb("ic1iw9oc1kw3");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->rank, 1);
  EXPECT_EQ(line->batch, 2) << "benchdnn's default";
  EXPECT_EQ(line->out.w, 7);
}

TEST(Prb, GivenOutputsAreCheckedLikeAllOthers) {
  auto p = parsePrb("mb1ic4ih8oc4oh9kh3ph1");  // 9 rows need one more row of padding after
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->padAfter.h, 2);
  EXPECT_TRUE(checkProblem(*p).ok());
  p = parsePrb("mb1ic4ih8oc4oh2kh3ph1");
  ASSERT_TRUE(p.ok());
  EXPECT_FALSE(checkProblem(*p).ok()) << "an input of 8 has more than 2 outputs";
}

TEST(Prb, Refusals) {
  EXPECT_THAT(prbRefusal(""), testing::AllOf(HasSubstr("ic is missing"), HasSubstr("oc is missing"),
                                             HasSubstr("input extent"), HasSubstr("kernel extent")));
  EXPECT_THAT(prbRefusal("mb1ic4iw8oc4kw3zz"), HasSubstr("nothing known begins at 'zz'"));
  EXPECT_THAT(prbRefusal("mb1ic4iw8oc4kw"), HasSubstr("kw needs a whole number"));
  EXPECT_THAT(prbRefusal("mb1ic4iw8oc4kw99999999999999999999"), HasSubstr("kw needs a whole number"));
  EXPECT_THAT(prbRefusal("mb1ic4iw8oc4kw9223372036854775807"), HasSubstr("2^30"));
  EXPECT_THAT(prbRefusal("mb1ic4iw8oc4kw3sw0"), HasSubstr("strides"));
  EXPECT_THAT(prbRefusal("mb1ic4iw8oc4kw3dw-1"), HasSubstr("dilations"));
  EXPECT_THAT(prbRefusal("ic4iw8oc4kw3n\"open"), HasSubstr("not closed"));
}

TEST(Selections, Passes) {
  EXPECT_EQ(*parsePasses("db,dx"), (PassMask{true, false, true}));
  EXPECT_FALSE(parsePasses("dx,").ok());
  EXPECT_FALSE(parsePasses("dy").ok());
}

}  // namespace
}  // namespace cubejit
