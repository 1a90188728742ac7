// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the formula of group_dict: the values published for it, and names for what is wrong with its arguments.
#include "cubejit_tbe/group_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace cubejit::tbe {
namespace {

using testing::HasSubstr;

struct Row {
  std::int64_t fmap_c, cout, groups;
  GroupDict expected;
};

TEST(GroupDict, GivesThePublishedValues) {
  const Row rows[] = {{16, 16, 1, {1, 1, 1, 16, 16, 16}},         {3, 64, 1, {1, 1, 1, 64, 3, 64}},
                      {1152, 4, 1, {1, 1, 72, 16, 1152, 4}},      {32, 64, 2, {2, 1, 1, 32, 32, 64}},
                      {96, 48, 3, {3, 1, 2, 16, 96, 48}},         {128, 128, 128, {8, 16, 1, 16, 128, 128}},
                      {320, 320, 320, {20, 16, 1, 16, 320, 320}}, {20, 20, 20, {2, 16, 1, 16, 20, 20}},
                      {40, 40, 5, {3, 2, 1, 16, 40, 40}},         {12, 12, 4, {1, 4, 1, 16, 12, 12}},
                      {24, 36, 3, {1, 3, 2, 48, 24, 36}},         {78, 28, 2, {1, 2, 5, 32, 78, 28}}};
  for (const Row& row : rows) {
    const auto computed = groupDict(row.fmap_c, row.cout, row.groups);
    ASSERT_TRUE(computed.ok()) << computed.error().message;
    EXPECT_TRUE(*computed == row.expected) << row.fmap_c << ", " << row.cout << ", " << row.groups;
  }
}

// The formula as the document spells it.
TEST(GroupDict, IsTheDocumentedFormula) {
  for (std::int64_t groups = 1; groups <= 40; ++groups) {
    for (const std::int64_t cin0 : {8, 16}) {
      for (std::int64_t inner = 1; inner <= 20; inner += 3) {
        for (std::int64_t outer = 1; outer <= 50; outer += 7) {
          const std::int64_t fmap_c = inner * groups, cout = outer * groups, cout0 = 16;
          const std::int64_t mag0 = std::lcm(fmap_c / groups, cin0) / (fmap_c / groups);
          const std::int64_t mag1 = std::lcm(cout / groups, cout0) / (cout / groups);
          const std::int64_t mag = std::min(std::lcm(mag0, mag1), groups);
          const GroupDict expected{(groups + mag - 1) / mag,
                                   mag,
                                   (mag * fmap_c / groups + cin0 - 1) / cin0,
                                   (mag * cout / groups + cout0 - 1) / cout0 * cout0,
                                   fmap_c,
                                   cout};
          const auto computed = groupDict(fmap_c, cout, groups, cout0, cin0);
          ASSERT_TRUE(computed.ok());
          ASSERT_TRUE(*computed == expected) << fmap_c << ", " << cout << ", " << groups << ", " << cin0;
        }
      }
    }
  }
}

// The formula as conv2d_backprop_input's document spells it: of the weights' shape.
TEST(ExtendDict, IsTheDocumentedFormula) {
  const auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  for (std::int64_t groups = 1; groups <= 40; groups += 3) {
    for (std::int64_t dx_c_ori = 1; dx_c_ori <= 20; ++dx_c_ori) {
      for (std::int64_t dy_c_ori = 1; dy_c_ori <= 50; dy_c_ori += 7) {
        const std::int64_t dx_c_extend = std::lcm(dx_c_ori, 16) / dx_c_ori,
                           dy_c_extend = std::lcm(dy_c_ori, 16) / dy_c_ori;
        const std::int64_t multiple_extend = std::min(std::lcm(dx_c_extend, dy_c_extend), groups);
        const std::int64_t expected[] = {groups,
                                         ceil(groups, multiple_extend),
                                         multiple_extend,
                                         ceil(multiple_extend * dx_c_ori, 16),
                                         ceil(multiple_extend * dy_c_ori, 16),
                                         dx_c_ori,
                                         dy_c_ori,
                                         dy_c_ori,
                                         dx_c_ori};
        const auto formula = groupDict(dx_c_ori * groups, dy_c_ori * groups, groups);
        ASSERT_TRUE(formula.ok());
        const ExtendDict computed = extendDict(*formula, groups);
        std::size_t at = 0;
        describeExtendDict(computed, [&](const char* field, std::int64_t value) {
          ASSERT_EQ(value, expected[at++]) << field << " of " << dx_c_ori << ", " << dy_c_ori << ", " << groups;
        });
      }
    }
  }
}

TEST(GroupDict, NamesEveryBrokenRule) {
  const auto uneven = groupDict(10, 9, 4);
  ASSERT_FALSE(uneven.ok());
  EXPECT_EQ(uneven.error().code, ErrorCode::kInvalidProblem);
  EXPECT_THAT(uneven.error().message, HasSubstr("fmap_c = 10 is not divisible by groups = 4"));
  EXPECT_THAT(uneven.error().message, HasSubstr("cout = 9 is not divisible by groups = 4"));
  const auto small = groupDict(0, -3, 0, 8, 2000000);
  ASSERT_FALSE(small.ok());
  for (const char* rule : {"fmap_c = 0", "cout = -3", "groups = 0", "cin0 = 2000000"})
    EXPECT_THAT(small.error().message, HasSubstr(rule));
  EXPECT_FALSE(groupDict(16, 16, 1, 8).ok());
}

}  // namespace
}  // namespace cubejit::tbe
