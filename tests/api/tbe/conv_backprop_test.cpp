// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the DSL's calls: shapes of the document, every rule named, nothing legal refused.
#include "cubejit_tbe/conv_backprop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "api/tbe/call_rules.h"
#include "tests/api/tbe/cases.h"

namespace cubejit::tbe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FilterCall, TheDocumentsExampleIsFractalZ3d) {
  const auto result = documentedFilter().call();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->tensor.shape, ElementsAre(18, 1, 16, 16));
  EXPECT_EQ(result->tensor.dtype, "float32");
  EXPECT_EQ(result->groups, 1);
  EXPECT_TRUE(result->problem.padBefore == (Dhw{0, 0, 0}));
  EXPECT_TRUE(result->problem.padAfter == (Dhw{0, 1, 1}));
}

TEST(FilterCall, ComputesTheGroupDictThatIsNotGiven) {
  Case c = documentedFilter();
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
  Case c = groupedCase(32, 64, 2);
  c.para.groups = 1;  // not looked at
  c.para.group_dict = GroupDict{2, 1, 1, 32, 32, 64};
  const auto result = c.call();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->groups, 2);
}

TEST(FilterCall, DilationsOfFiveAreInTheOrderOfTheFilter) {
  Case c = documentedFilter();
  c.filter = {16, 2, 16, 3, 2};
  c.dy.shape = {16, 3, 1, 35, 36, 16};
  c.para.pads = {0, 0, 0, 1, 0, 0};
  c.para.dilations = {1, 3, 1, 2, 1};
  const CallRules rules = checkCall(kConv3dBackpropFilter, {c.first, c.dy, c.filter, c.input, c.para});
  EXPECT_THAT(rules.broken, ElementsAre());
  EXPECT_TRUE(rules.call.dilation == (Dhw{3, 2, 1}));
}

TEST(InputCall, TheDocumentsExamplesAreActivations) {
  const auto deep = documentedInput().call();
  ASSERT_TRUE(deep.ok()) << deep.error().message;
  EXPECT_THAT(deep->tensor.shape, ElementsAre(1, 4, 8, 30, 44, 16));
  EXPECT_EQ(deep->tensor.dtype, "float16");
  EXPECT_EQ(deep->tensor.name, "conv3d_backprop_input_cce");
  EXPECT_TRUE(deep->problem.stride == (Dhw{2, 2, 2}));
  const auto flat = documentedFlatInput().call();
  ASSERT_TRUE(flat.ok()) << flat.error().message;
  EXPECT_THAT(flat->tensor.shape, ElementsAre(1, 1, 7, 7, 16));
  EXPECT_EQ(flat->tensor.dtype, "float32");
  EXPECT_EQ(flat->pass, Pass::kDx);
}

TEST(InputCall, LongStridesAndDilationsAreInTheOrderOfTheInput) {
  Case c = documentedInput();
  c.para.strides = {1, 2, 1, 3, 1};
  c.para.dilations = {1, 1, 2, 3, 1};
  const CallRules rules = checkCall(kConv3dBackpropInput, {c.first, c.dy, c.filter, c.input, c.para});
  EXPECT_TRUE(rules.call.stride == (Dhw{2, 1, 3}));
  EXPECT_TRUE(rules.call.dilation == (Dhw{1, 2, 3}));
  c = documentedFlatInput();
  c.para.dilations = {1, 1, 2, 3};
  const CallRules flat = checkCall(kConv2dBackpropInput, {c.first, c.dy, c.filter, c.input, c.para});
  EXPECT_TRUE(flat.call.dilation == (Dhw{1, 2, 3}));
}

struct Break {
  const char* rule;
  std::function<void(Case&)> make;
};

void expectRefused(const Case& legal, const std::vector<Break>& breaks) {
  ASSERT_TRUE(legal.call().ok()) << legal.call().error().message;
  for (const Break& b : breaks) {
    Case c = legal;
    b.make(c);
    const auto result = c.call();
    ASSERT_FALSE(result.ok()) << b.rule;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidProblem) << b.rule;
    EXPECT_THAT(result.error().message, HasSubstr(b.rule));
  }
}

TEST(FilterCall, NamesEachBrokenRule) {
  const std::vector<Break> breaks = {
      {"x is float32; it must be float16", [](auto& c) { c.first.dtype = "float32"; }},
      {"out_backprop is bfloat16", [](auto& c) { c.dy.dtype = "bfloat16"; }},
      {"x has 5 axes; it must have 6", [](auto& c) { c.first.shape.pop_back(); }},
      {"out_backprop has 7 axes", [](auto& c) { c.dy.shape.push_back(1); }},
      {"x C0 = 8 must be 16", [](auto& c) { c.first.shape[5] = 8; }},
      {"x D = 5000 must be 1 to 4096", [](auto& c) { c.first.shape[1] = 5000; }},
      {"x H = 0 must be", [](auto& c) { c.first.shape[3] = 0; }},
      {"x N = 1000001 must be 1 to 1000000", [](auto& c) { c.first.shape[0] = 1000001; }},
      {"out_backprop W = 4097", [](auto& c) { c.dy.shape[4] = 4097; }},
      {"x N = 3 and out_backprop N = 16 must be equal", [](auto& c) { c.first.shape[0] = 3; }},
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
       [](auto& c) { c.para.group_dict.reset(), c.para.groups = 3, c.first.shape[2] = 3; }},
      {"out_backprop W = 1 needs out_backprop H = 1, but it is 36",
       [](auto& c) { c.first.shape[4] = 1, c.dy.shape[4] = 1, c.filter[4] = 2; }},
  };
  expectRefused(documentedFilter(), breaks);
}

TEST(FlatFilterCall, NamesWhatIsOfTwoAxes) {
  Case c = groupedCase(32, 64, 2, true, true);
  expectRefused(
      c, {{"input_x has 6 axes; it must have 5, those of NC1HWC0: (N, C1, H, W, 16)",
           [](auto& b) { b.first.shape.push_back(1); }},
          {"input_x H = 5000 must be 1 to 4096", [](auto& b) { b.first.shape[2] = 5000; }},
          {"filter_sizes has 5 values; it must have 4: (Cout, Cin / groups, Kh, Kw)",
           [](auto& b) { b.filter.push_back(1); }},
          {"strides has 4 values; it must have 2: H, W", [](auto& b) { b.para.strides.assign(4, 1); }},
          {"padding has 6 values; it must have 4: up, down, left, right", [](auto& b) { b.para.pads.assign(6, 0); }},
          {"padding left = 3 must be less than the dilated filter, 3", [](auto& b) { b.para.pads[2] = 3; }},
          {"dilations has 3 values; it must have 2 (H, W) or 4 (N, C, H, W)",
           [](auto& b) { b.para.dilations.assign(3, 1); }},
          {"dilations C = 2 must be 1", [](auto& b) { b.para.dilations = {1, 2, 1, 2}; }},
          {"out_backprop H = 3 must be 5, what input_x, filter_sizes, strides, padding and dilations imply",
           [](auto& b) { b.para.strides[0] = 1; }},
          {"input_x N = 1 and out_backprop N = 2 must be equal", [](auto& b) { b.first.shape[0] = 1; }}});
}

TEST(InputCall, NamesEachBrokenRule) {
  expectRefused(
      documentedInput(),
      {{"filter is float32; it must be float16", [](auto& c) { c.first.dtype = "float32"; }},
       {"filter has 5 axes; it must have 4, those of FRACTAL_Z_3D", [](auto& c) { c.first.shape.push_back(1); }},
       {"filter has shape (63, 16, 16, 16); it must have (64, 16, 16, 16): (real_g * Kd * cin1_g * Kh * Kw",
        [](auto& c) { c.first.shape[0] = 63; }},
       {"out_backprop is float32", [](auto& c) { c.dy.dtype = "float32"; }},
       {"filter_size has 4 values; it must have 5: (Cout, Cin / groups, Kd, Kh, Kw)",
        [](auto& c) { c.filter.pop_back(); }},
       {"input_size has 4 values; it must have 5: (N, D, H, W, Cin)", [](auto& c) { c.input.pop_back(); }},
       {"input_size D = 5000 must be 1 to 4096", [](auto& c) { c.input[1] = 5000; }},
       {"input_size C = 0 must be 1", [](auto& c) { c.input[4] = 0; }},
       {"input_size C = 127 must be 128, filter_size[1] = 128 times groups = 1", [](auto& c) { c.input[4] = 127; }},
       {"input_size N = 3 and out_backprop N = 1 must be equal", [](auto& c) { c.input[0] = 3; }},
       {"strides has 4 values; it must have 3 (D, H, W) or 5 (N, D, H, W, C)",
        [](auto& c) { c.para.strides.pop_back(); }},
       {"strides C = 2 must be 1", [](auto& c) { c.para.strides[4] = 2; }},
       {"out_backprop C1 = 16 must be 15 for 240 output channels", [](auto& c) { c.filter[0] = 240; }},
       {"out_backprop W = 22 must be 43, what input_size, filter_size, strides, pads and dilations imply",
        [](auto& c) { c.para.strides[3] = 1; }},
       {"the dilated filter, 46, is larger than the padded input_size, 44, along W",
        [](auto& c) { c.para.dilations[3] = 45; }},
       {"res_dtype is float32; it must be float16", [](auto& c) { c.para.res_dtype = "float32"; }},
       {"group_dict cin1_g = 7; the formula gives 8", [](auto& c) { c.para.group_dict->cin1_g = 7; }},
       {"group_result is raw, which an input's gradient has not",
        [](auto& c) { c.para.group_result = GroupResult::kRaw; }}});
}

TEST(FlatInputCall, NamesEachBrokenRule) {
  expectRefused(
      documentedFlatInput(),
      {{"filters has 3 axes; it must have 4, those of FRACTAL_Z", [](auto& c) { c.first.shape.pop_back(); }},
       {"(real_g * cin1_g * Kh * Kw, cout_g / 16, 16, 16)", [](auto& c) { c.first.shape[1] = 2; }},
       {"input_sizes has 5 values; it must have 4: (N, Cin, H, W)", [](auto& c) { c.input.push_back(1); }},
       {"res_dtype is bfloat16; it must be float16 or float32", [](auto& c) { c.para.res_dtype = "bfloat16"; }},
       {"offset_x = 1 must be 0: float16 is not quantised", [](auto& c) { c.para.offset_x = 1; }},
       {"offset_w = 0 must be None: float16 is not quantised", [](auto& c) { c.para.offset_w = 0; }},
       {"group_dict groups = 0 must be 1 to 1000000", [](auto& c) { c.para.extend_dict->groups = 0; }},
       {"input_sizes C = 16 must be 32, filter_sizes[1] = 16 times groups = 2",
        [](auto& c) { c.para.extend_dict->groups = 2; }},
       {"group_dict g_extend = 2; the formula gives 1", [](auto& c) { c.para.extend_dict->g_extend = 2; }},
       {"group_dict multiple_extend = 2", [](auto& c) { c.para.extend_dict->multiple_extend = 2; }},
       {"group_dict dx_c1_extend = 2", [](auto& c) { c.para.extend_dict->dx_c1_extend = 2; }},
       {"group_dict dy_c1_extend = 2", [](auto& c) { c.para.extend_dict->dy_c1_extend = 2; }},
       {"group_dict dx_c_ori = 2", [](auto& c) { c.para.extend_dict->dx_c_ori = 2; }},
       {"group_dict dy_c_ori = 2", [](auto& c) { c.para.extend_dict->dy_c_ori = 2; }},
       {"group_dict filter_batch_ori = 2", [](auto& c) { c.para.extend_dict->filter_batch_ori = 2; }},
       {"group_dict filter_c_ori = 2", [](auto& c) { c.para.extend_dict->filter_c_ori = 2; }}});
}

TEST(FilterCall, NamesAllBrokenRulesAtOnce) {
  Case c = documentedFilter();
  c.first.dtype = "int8";
  c.para.strides[2] = 0;
  c.para.res_dtype = "double";
  c.para.group_dict->mag_factor = 7;
  const auto result = c.call();
  ASSERT_FALSE(result.ok());
  for (const char* rule : {"x is int8", "strides W = 0", "res_dtype is double", "mag_factor = 7"})
    EXPECT_THAT(result.error().message, HasSubstr(rule));
}

TEST(InputCall, NamesAllBrokenRulesAtOnce) {
  Case c = documentedInput();
  c.first.dtype = "int8";
  c.filter[3] = 256;
  c.input.pop_back();
  c.para.strides[2] = 0;
  const auto result = c.call();
  ASSERT_FALSE(result.ok());
  for (const char* rule :
       {"filter is int8", "filter_size[3] = 256 must be 1 to 255", "input_size has 4 values", "strides H = 0"})
    EXPECT_THAT(result.error().message, HasSubstr(rule));
}

TEST(FilterCall, TheSmallestTileMustFitThePart) {
  Case c = documentedFilter();
  c.para.soc = "ascend911";
  EXPECT_EQ(c.call().error().code, ErrorCode::kUnsupported);
  // 16 pixels of dy and the rows of x they touch: 255 rows of 4,096 pixels take more than any L1 has.
  c.para.soc = "ascend910a";
  c.first.shape = {1, 1, 1, 512, 4096, 16};
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
