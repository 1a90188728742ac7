// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the DSL's results: element by element the documented sum, masked and raw, for each way groups share
// real groups; and of runs that are called wrongly.
#include "cubejit_tbe/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <random>

#include "cubejit/float16.h"
#include "tests/api/tbe/filter_cases.h"

namespace cubejit::tbe {
namespace {

using testing::HasSubstr;

std::int64_t elementsOf(const Tensor& t) {
  std::int64_t count = 1;
  for (const std::int64_t extent : t.shape) count *= extent;
  return count;
}

// Whole numbers of few bits, so that sums are exact; channels that do not exist are zero.
std::vector<std::uint16_t> arrayOf(const Tensor& t, std::int64_t channels, std::mt19937& random) {
  std::vector<std::uint16_t> out(static_cast<std::size_t>(elementsOf(t)));
  const std::int64_t plane = t.shape[3] * t.shape[4] * 16;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t channel = at / plane % t.shape[2] * 16 + at % 16;
    out[i] = channel < channels ? floatToF16(static_cast<float>(static_cast<int>(random() % 7) - 3)) : std::uint16_t{0};
  }
  return out;
}

// An activation by channel and position; 0 where there is nothing.
class Activation {
 public:
  Activation(const Tensor& t, const std::vector<std::uint16_t>& data) : t_(t), data_(data) {}
  float at(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) const {
    const auto& s = t_.shape;
    if (c / 16 >= s[2] || d < 0 || d >= s[1] || h < 0 || h >= s[3] || w < 0 || w >= s[4]) return 0;
    return f16ToFloat(
        data_[static_cast<std::size_t>(((((n * s[1] + d) * s[2] + c / 16) * s[3] + h) * s[4] + w) * 16 + c % 16)]);
  }

 private:
  const Tensor& t_;
  const std::vector<std::uint16_t>& data_;
};

// The documented sum, in the order of the result.
std::vector<float> reference(const FilterCase& c, const ResTensor& r, const std::vector<std::uint16_t>& x,
                             const std::vector<std::uint16_t>& dy) {
  const Activation xs(c.x, x), dys(c.dy, dy);
  const GroupDict& g = r.group_dict;
  const Problem& p = r.problem;
  const std::int64_t inner = g.cin_ori / r.groups, outer = g.cout_ori / r.groups;
  std::vector<float> out;
  for (std::int64_t group = 0; group < g.real_g; ++group)
    for (std::int64_t kd = 0; kd < p.kernel.d; ++kd)
      for (std::int64_t c1 = 0; c1 < g.cin1_g; ++c1)
        for (std::int64_t kh = 0; kh < p.kernel.h; ++kh)
          for (std::int64_t kw = 0; kw < p.kernel.w; ++kw)
            for (std::int64_t co = 0; co < g.cout_g; ++co)
              for (std::int64_t c0 = 0; c0 < 16; ++c0) {
                const std::int64_t ci = (group * g.cin1_g + c1) * 16 + c0, o = group * g.cout_g + co;
                const bool ofOneGroup = ci < g.cin_ori && o < g.cout_ori && ci / inner == o / outer;
                float sum = 0;
                if (ofOneGroup || r.group_result == GroupResult::kRaw)
                  for (std::int64_t n = 0; n < p.batch; ++n)
                    for (std::int64_t d = 0; d < p.out.d; ++d)
                      for (std::int64_t h = 0; h < p.out.h; ++h)
                        for (std::int64_t w = 0; w < p.out.w; ++w)
                          sum += xs.at(n, ci, d * p.stride.d - p.padBefore.d + kd * p.dilation.d,
                                       h * p.stride.h - p.padBefore.h + kh * p.dilation.h,
                                       w * p.stride.w - p.padBefore.w + kw * p.dilation.w) *
                                 dys.at(n, o, d, h, w);
                out.push_back(sum);
              }
  return out;
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Freed>;
Memory workspaceOf(const Operator& op) {
  return Memory(std::aligned_alloc(64, (op.workspaceBytes() + 63) / 64 * 64 + 64));
}

Session& session() {
  static Session shared;
  return shared;
}

class Groups : public testing::TestWithParam<std::tuple<std::array<std::int64_t, 3>, GroupResult>> {};

TEST_P(Groups, EveryElementIsTheDocumentedSum) {
  const auto& [channels, groupResult] = GetParam();
  FilterCase c = groupedCase(channels[0], channels[1], channels[2]);
  c.para.group_result = groupResult;
  const auto described = c.call();
  ASSERT_TRUE(described.ok()) << described.error().message;
  const auto op = build(session(), *described);
  ASSERT_TRUE(op.ok()) << op.error().message;
  std::mt19937 random(7);
  const auto x = arrayOf(c.x, channels[0], random), dy = arrayOf(c.dy, channels[1], random);
  std::vector<float> dw(static_cast<std::size_t>(elementsOf(described->tensor)), 77);
  const Memory workspace = workspaceOf(*op);
  const Status done = op->run(x.data(), dy.data(), dw.data(), workspace.get(), op->workspaceBytes());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(dw, reference(c, *described, x, dy));
}

// The published group table (channels of the largest cut down) and one whose last real group reaches beyond the stored blocks.
INSTANTIATE_TEST_SUITE_P(
    , Groups,
    testing::Combine(testing::Values(std::array<std::int64_t, 3>{16, 16, 1}, std::array<std::int64_t, 3>{3, 64, 1},
                                     std::array<std::int64_t, 3>{72, 4, 1}, std::array<std::int64_t, 3>{32, 64, 2},
                                     std::array<std::int64_t, 3>{96, 48, 3}, std::array<std::int64_t, 3>{48, 48, 48},
                                     std::array<std::int64_t, 3>{20, 20, 20}, std::array<std::int64_t, 3>{40, 40, 5},
                                     std::array<std::int64_t, 3>{12, 12, 4}, std::array<std::int64_t, 3>{24, 36, 3},
                                     std::array<std::int64_t, 3>{78, 28, 2}, std::array<std::int64_t, 3>{72, 48, 3},
                                     std::array<std::int64_t, 3>{48, 72, 3}),
                     testing::Values(GroupResult::kMasked, GroupResult::kRaw)));

TEST(Operator, HalfResultsAreTheSumsRounded) {
  FilterCase c = groupedCase(20, 20, 20);
  c.para.res_dtype = "float16";
  const auto described = c.call();
  ASSERT_TRUE(described.ok()) << described.error().message;
  const auto op = build(session(), *described);
  ASSERT_TRUE(op.ok()) << op.error().message;
  std::mt19937 random(8);
  const auto x = arrayOf(c.x, 20, random), dy = arrayOf(c.dy, 20, random);
  std::vector<std::uint16_t> dw(static_cast<std::size_t>(elementsOf(described->tensor)));
  const Memory workspace = workspaceOf(*op);
  ASSERT_TRUE(op->run(x.data(), dy.data(), dw.data(), workspace.get(), op->workspaceBytes()).ok());
  const std::vector<float> expected = reference(c, *described, x, dy);
  for (std::size_t i = 0; i < dw.size(); ++i) ASSERT_EQ(f16ToFloat(dw[i]), expected[i]) << i;
}

TEST(Operator, RefusesWhatItCannotRun) {
  FilterCase c = groupedCase(72, 48, 3);  // raw: x has a block less than its real groups
  c.para.group_result = GroupResult::kRaw;
  const auto described = c.call();
  ASSERT_TRUE(described.ok());
  const auto op = build(session(), *described);
  ASSERT_TRUE(op.ok());
  std::vector<std::uint16_t> x(op->xBytes() / 2), dy(op->outBackpropBytes() / 2);
  std::vector<float> dw(op->resultBytes() / 4, 77);
  const Memory workspace = workspaceOf(*op);
  auto* memory = static_cast<std::byte*>(workspace.get());
  const std::size_t bytes = op->workspaceBytes();
  EXPECT_FALSE(op->run(nullptr, dy.data(), dw.data(), memory, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), nullptr, dw.data(), memory, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), dy.data(), nullptr, memory, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), dy.data(), dw.data(), nullptr, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), dy.data(), dw.data(), memory + 4, bytes).ok());
  EXPECT_THAT(op->run(x.data(), dy.data(), dw.data(), memory, bytes - 1).error().message, HasSubstr("are needed"));
  EXPECT_EQ(dw, std::vector<float>(dw.size(), 77));
}

}  // namespace
}  // namespace cubejit::tbe
