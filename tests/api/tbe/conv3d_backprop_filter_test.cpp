// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the DSL's call: shapes of the document, every rule named, nothing legal refused.
#include "cubejit_tbe/conv3d_backprop_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "api/tbe/filter_rules.h"
#include "tests/api/tbe/filter_cases.h"

namespace cubejit::tbe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FilterCall, TheDocumentsExampleIsFractalZ3d) {
  const auto result = documentedCase().call();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->tensor.shape, ElementsAre(18, 1, 16, 16));
  EXPECT_EQ(result->tensor.dtype, "float32");
  EXPECT_EQ(result->groups, 1);
  EXPECT_TRUE(result->problem.padBefore == (Dhw{0, 0, 0}));
  EXPECT_TRUE(result->problem.padAfter == (Dhw{0, 1, 1}));
}

TEST(FilterCall, ComputesTheGroupDictThatIsNotGiven) {
  FilterCase c = documentedCase();
  c.para.group_dict.reset();
  const auto result = c.call();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->group_dict == (GroupDict{1, 1, 1, 16, 16, 16}));
  const auto grouped = groupedCase(40, 40, 5).call();
  ASSERT_TRUE(grouped.ok()) << grouped.error().message;
  EXPECT_TRUE(grouped->group_dict == (GroupDict{3, 2, 1, 16, 40, 40}));
  EXPECT_THAT(grouped->tensor.shape, ElementsAre(3 * 2 * 1 * 3 * 2, 1, 16, 16));
}

TEST(FilterCall, GroupsFollowFromTheGroupDictThatIsGiven) {
  FilterCase c = groupedCase(32, 64, 2);
  c.para.groups = 1;  // not looked at
  c.para.group_dict = GroupDict{2, 1, 1, 32, 32, 64};
  const auto result = c.call();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->groups, 2);
}

TEST(FilterCall, DilationsOfFiveAreInTheOrderOfTheFilter) {
  FilterCase c = documentedCase();
  c.filter = {16, 2, 16, 3, 2};
  c.dy.shape = {16, 3, 1, 35, 36, 16};
  c.para.pads = {0, 0, 0, 1, 0, 0};
  c.para.dilations = {1, 3, 1, 2, 1};
  const FilterRules rules = checkFilterCall(c.x, c.dy, c.filter, c.para);
  EXPECT_THAT(rules.broken, ElementsAre());
  EXPECT_TRUE(rules.call.dilation == (Dhw{3, 2, 1}));
}

struct Break {
  const char* rule;
  std::function<void(FilterCase&)> make;
};

TEST(FilterCall, NamesEachBrokenRule) {
  const Break breaks[] = {
      {"x is float32; it must be float16", [](auto& c) { c.x.dtype = "float32"; }},
      {"out_backprop is bfloat16", [](auto& c) { c.dy.dtype = "bfloat16"; }},
      {"x has 5 axes; it must have 6", [](auto& c) { c.x.shape.pop_back(); }},
      {"out_backprop has 7 axes", [](auto& c) { c.dy.shape.push_back(1); }},
      {"x C0 = 8 must be 16", [](auto& c) { c.x.shape[5] = 8; }},
      {"x D = 5000 must be 1 to 4096", [](auto& c) { c.x.shape[1] = 5000; }},
      {"x H = 0 must be", [](auto& c) { c.x.shape[3] = 0; }},
      {"x N = 1000001 must be 1 to 1000000", [](auto& c) { c.x.shape[0] = 1000001; }},
      {"out_backprop W = 4097", [](auto& c) { c.dy.shape[4] = 4097; }},
      {"x N = 3 and out_backprop N = 16 must be equal", [](auto& c) { c.x.shape[0] = 3; }},
      {"filter_size has 4 values", [](auto& c) { c.filter.pop_back(); }},
      {"filter_size[3] = 0", [](auto& c) { c.filter[3] = 0; }},
      {"strides has 2 values", [](auto& c) { c.para.strides.pop_back(); }},
      {"strides H = 64 must be 1 to 63", [](auto& c) { c.para.strides[1] = 64; }},
      {"pads has 3 values; it must have 6", [](auto& c) { c.para.pads.resize(3); }},
      {"pads left = -1 must be 0 to 255", [](auto& c) { c.para.pads[4] = -1; }},
      {"pads down = 3 must be less than the dilated filter, 3", [](auto& c) { c.para.pads[3] = 3; }},
      {"dilations has 4 values; it must have 3 (D, H, W) or 5", [](auto& c) { c.para.dilations.pop_back(); }},
      {"dilations N = 2 must be 1", [](auto& c) { c.para.dilations[0] = 2; }},
      {"dilations C = 2 must be 1", [](auto& c) { c.para.dilations[2] = 2; }},
      {"dilations W = 256 must be 1 to 255", [](auto& c) { c.para.dilations[4] = 256; }},
      {"the dilated filter along H = 401 must be 1 to 255", [](auto& c) { c.para.dilations[3] = 200; }},
      {"the dilated filter, 101, is larger than the padded x, 74",
       [](auto& c) { c.para.dilations[3] = 50, c.para.pads[3] = 2; }},
      {"out_backprop H = 36 must be 72", [](auto& c) { c.para.strides[1] = 1, c.para.pads[3] = 2; }},
      {"res_dtype is int32", [](auto& c) { c.para.res_dtype = "int32"; }},
      {"kernel_name \"a b\" must be letters", [](auto& c) { c.para.kernel_name = "a b"; }},
      {"kernel_name \"\"", [](auto& c) { c.para.kernel_name = ""; }},
      {"x C1 = 1 must be 2 for 32 input channels", [](auto& c) { c.filter[2] = 32, c.para.group_dict.reset(); }},
      {"out_backprop C1 = 1 must be 2 for 17 output channels", [](auto& c) { c.filter[0] = 17; }},
      {"group_dict cin_ori = 24 is not divisible by filter_size[2] = 16",
       [](auto& c) { c.para.group_dict->cin_ori = 24; }},
      {"group_dict cout_ori = 8; the formula gives 16", [](auto& c) { c.para.group_dict->cout_ori = 8; }},
      {"group_dict real_g = 2; the formula gives 1", [](auto& c) { c.para.group_dict->real_g = 2; }},
      {"group_dict mag_factor = 3", [](auto& c) { c.para.group_dict->mag_factor = 3; }},
      {"group_dict cin1_g = 0", [](auto& c) { c.para.group_dict->cin1_g = 0; }},
      {"group_dict cout_g = 32", [](auto& c) { c.para.group_dict->cout_g = 32; }},
      {"groups = 0 must be 1", [](auto& c) { c.para.group_dict.reset(), c.para.groups = 0; }},
      {"16 output channels are not divisible by 3 groups",
       [](auto& c) { c.para.group_dict.reset(), c.para.groups = 3, c.x.shape[2] = 3; }},
      {"out_backprop W = 1 needs out_backprop H = 1, but it is 36",
       [](auto& c) { c.x.shape[4] = 1, c.dy.shape[4] = 1, c.filter[4] = 2; }},
  };
  for (const Break& b : breaks) {
    FilterCase c = documentedCase();
    b.make(c);
    const auto result = c.call();
    ASSERT_FALSE(result.ok()) << b.rule;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidProblem) << b.rule;
    EXPECT_THAT(result.error().message, HasSubstr(b.rule));
  }
}

TEST(FilterCall, NamesAllBrokenRulesAtOnce) {
  FilterCase c = documentedCase();
  c.x.dtype = "int8";
  c.para.strides[2] = 0;
  c.para.res_dtype = "double";
  c.para.group_dict->mag_factor = 7;
  const auto result = c.call();
  ASSERT_FALSE(result.ok());
  for (const char* rule : {"x is int8", "strides W = 0", "res_dtype is double", "mag_factor = 7"})
    EXPECT_THAT(result.error().message, HasSubstr(rule));
}

TEST(FilterCall, TheSmallestTileMustFitThePart) {
  FilterCase c = documentedCase();
  c.para.soc = "ascend911";
  EXPECT_EQ(c.call().error().code, ErrorCode::kUnsupported);
  // 16 pixels of dy and the rows of x they touch: 255 rows of 4,096 pixels take more than any L1 has.
  c.para.soc = "ascend910a";
  c.x.shape = {1, 1, 1, 512, 4096, 16};
  c.filter = {16, 1, 16, 255, 1};
  c.dy.shape = {1, 1, 1, 258, 4096, 16};
  c.para.pads.assign(6, 0);
  c.para.strides = {1, 1, 1};
  const auto refused = c.call();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNoFeasiblePlan) << refused.error().message;
  EXPECT_THAT(refused.error().message, HasSubstr("L1"));
  c.para.soc.clear();
  EXPECT_TRUE(c.call().ok());
}

}  // namespace
}  // namespace cubejit::tbe
