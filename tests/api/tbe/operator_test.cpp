// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the DSL's results: element by element the documented sum, masked and raw, for each way groups share
// real groups; and of runs that are called wrongly.
#include "cubejit_tbe/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "cubejit/float16.h"
#include "tests/api/tbe/cases.h"

namespace cubejit::tbe {
namespace {

using testing::HasSubstr;

std::int64_t elementsOf(const Tensor& t) {
  std::int64_t count = 1;
  for (const std::int64_t extent : t.shape) count *= extent;
  return count;
}

// Whole numbers of few bits, so that sums are exact.
std::vector<std::uint16_t> numbersFor(const Tensor& t, std::mt19937& random) {
  std::vector<std::uint16_t> out(static_cast<std::size_t>(elementsOf(t)));
  for (auto& value : out) value = floatToF16(static_cast<float>(static_cast<int>(random() % 7) - 3));
  return out;
}

// Channels that do not exist are zero.
std::vector<std::uint16_t> activationFor(const Tensor& t, std::int64_t channels, std::mt19937& random) {
  std::vector<std::uint16_t> out = numbersFor(t, random);
  const std::size_t axes = t.shape.size();
  const std::int64_t plane = t.shape[axes - 3] * t.shape[axes - 2] * 16;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (at / plane % t.shape[axes - 4] * 16 + at % 16 >= channels) out[i] = 0;
  }
  return out;
}

// An activation by channel and position; 0 where there is nothing.
class Activation {
 public:
  Activation(const Tensor& t, const std::vector<std::uint16_t>& data) : s_(t.shape), data_(data) {
    if (s_.size() == 5) s_.insert(s_.begin() + 1, 1);
  }
  float at(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) const {
    if (c / 16 >= s_[2] || d < 0 || d >= s_[1] || h < 0 || h >= s_[3] || w < 0 || w >= s_[4]) return 0;
    return f16ToFloat(
        data_[static_cast<std::size_t>(((((n * s_[1] + d) * s_[2] + c / 16) * s_[3] + h) * s_[4] + w) * 16 + c % 16)]);
  }

 private:
  std::vector<std::int64_t> s_;
  const std::vector<std::uint16_t>& data_;
};

// The documented sum, in the order of the result.
std::vector<float> filterReference(const Case& c, const ResTensor& r, const std::vector<std::uint16_t>& x,
                                   const std::vector<std::uint16_t>& dy) {
  const Activation xs(c.first, x), dys(c.dy, dy);
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

// The position of dy that tap k takes to position i; one outside if there is none.
std::int64_t sourceOf(const Problem& p, int axis, std::int64_t i, std::int64_t k) {
  const std::int64_t moved = i + p.padBefore[axis] - k * p.dilation[axis];
  return moved % p.stride[axis] == 0 ? moved / p.stride[axis] : -1;
}

std::vector<float> inputReference(const Case& c, const ResTensor& r, const std::vector<std::uint16_t>& filter,
                                  const std::vector<std::uint16_t>& dy) {
  const Activation dys(c.dy, dy);
  const GroupDict& g = r.group_dict;
  const Problem& p = r.problem;
  const std::int64_t inner = g.cin_ori / r.groups, outer = g.cout_ori / r.groups;
  const auto weight = [&](std::int64_t o, std::int64_t ci, std::int64_t kd, std::int64_t kh, std::int64_t kw) {
    const std::int64_t group = ci / (g.cin1_g * 16), c1 = ci % (g.cin1_g * 16) / 16, row = o - group * g.cout_g;
    const std::int64_t tap = (((group * p.kernel.d + kd) * g.cin1_g + c1) * p.kernel.h + kh) * p.kernel.w + kw;
    return f16ToFloat(filter[static_cast<std::size_t>((tap * g.cout_g + row) * 16 + ci % 16)]);
  };
  std::vector<float> out;
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t d = 0; d < p.in.d; ++d)
      for (std::int64_t c1 = 0; c1 < (g.cin_ori + 15) / 16; ++c1)
        for (std::int64_t h = 0; h < p.in.h; ++h)
          for (std::int64_t w = 0; w < p.in.w; ++w)
            for (std::int64_t c0 = 0; c0 < 16; ++c0) {
              const std::int64_t ci = c1 * 16 + c0;
              float sum = 0;
              for (std::int64_t o = ci / inner * outer; ci < g.cin_ori && o < (ci / inner + 1) * outer; ++o)
                for (std::int64_t kd = 0; kd < p.kernel.d; ++kd)
                  for (std::int64_t kh = 0; kh < p.kernel.h; ++kh)
                    for (std::int64_t kw = 0; kw < p.kernel.w; ++kw)
                      sum += weight(o, ci, kd, kh, kw) *
                             dys.at(n, o, sourceOf(p, 0, d, kd), sourceOf(p, 1, h, kh), sourceOf(p, 2, w, kw));
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

std::vector<float> numbersOf(const std::vector<std::byte>& bytes, const std::string& dtype) {
  std::vector<float> out(bytes.size() / (dtype == "float32" ? 4 : 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t half = 0;
    if (dtype == "float32")
      std::memcpy(&out[i], &bytes[i * 4], 4);
    else
      std::memcpy(&half, &bytes[i * 2], 2), out[i] = f16ToFloat(half);
  }
  return out;
}

// Runs the call on random numbers; what a filter holds between groups and beyond the channels is random as well.
void expectTheSum(const Case& c, std::int64_t cin, std::int64_t cout) {
  const auto described = c.call();
  ASSERT_TRUE(described.ok()) << described.error().message;
  const auto op = build(session(), *described);
  ASSERT_TRUE(op.ok()) << op.error().message;
  std::mt19937 random(7);
  const auto first = c.ofFilter ? activationFor(c.first, cin, random) : numbersFor(c.first, random);
  const auto dy = activationFor(c.dy, cout, random);
  ASSERT_EQ(op->firstBytes(), first.size() * 2);
  std::vector<std::byte> result(op->resultBytes(), std::byte{77});
  const Memory workspace = workspaceOf(*op);
  const Status done = op->run(first.data(), dy.data(), result.data(), workspace.get(), op->workspaceBytes());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(numbersOf(result, described->tensor.dtype),
            (c.ofFilter ? filterReference : inputReference)(c, *described, first, dy));
}

struct Kind {
  const char* name;
  bool ofFilter, flat;
  GroupResult result;
};
class Groups : public testing::TestWithParam<std::tuple<std::array<std::int64_t, 3>, Kind>> {};

std::string nameOf(const testing::TestParamInfo<Groups::ParamType>& tested) {
  const auto& [channels, kind] = tested.param;
  std::string name = kind.name;
  for (const std::int64_t count : channels) name += "_" + std::to_string(count);
  return name;
}

TEST_P(Groups, EveryElementIsTheDocumentedSum) {
  const auto& [channels, kind] = GetParam();
  Case c = groupedCase(channels[0], channels[1], channels[2], kind.ofFilter, kind.flat);
  c.para.group_result = kind.result;
  expectTheSum(c, channels[0], channels[1]);
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
                     testing::Values(Kind{"filter", true, false, GroupResult::kMasked},
                                     Kind{"raw_filter", true, false, GroupResult::kRaw},
                                     Kind{"flat_filter", true, true, GroupResult::kMasked},
                                     Kind{"flat_raw_filter", true, true, GroupResult::kRaw},
                                     Kind{"input", false, false, GroupResult::kMasked},
                                     Kind{"flat_input", false, true, GroupResult::kMasked})),
    nameOf);

TEST(Operator, ResultsAreOfTheTypeAskedFor) {
  for (const bool flat : {false, true}) {
    Case filter = groupedCase(20, 20, 20, true, flat);
    filter.para.res_dtype = "float16";
    expectTheSum(filter, 20, 20);
  }
  Case input = groupedCase(20, 20, 20, false, true);
  input.para.res_dtype = "float32";
  expectTheSum(input, 20, 20);
}

TEST(Operator, RefusesWhatItCannotRun) {
  Case c = groupedCase(72, 48, 3);  // raw: x has a block less than its real groups
  c.para.group_result = GroupResult::kRaw;
  const auto described = c.call();
  ASSERT_TRUE(described.ok());
  const auto op = build(session(), *described);
  ASSERT_TRUE(op.ok());
  std::vector<std::uint16_t> x(op->firstBytes() / 2), dy(op->outBackpropBytes() / 2);
  std::vector<float> dw(op->resultBytes() / 4, 77);
  const Memory workspace = workspaceOf(*op);
  auto* memory = static_cast<std::byte*>(workspace.get());
  const std::size_t bytes = op->workspaceBytes();
  EXPECT_FALSE(op->run(nullptr, dy.data(), dw.data(), memory, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), nullptr, dw.data(), memory, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), dy.data(), nullptr, memory, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), dy.data(), dw.data(), nullptr, bytes).ok());
  EXPECT_FALSE(op->run(x.data(), dy.data(), dw.data(), memory + 4, bytes).ok());
  EXPECT_THAT(op->run(x.data(), dy.data(), dw.data(), memory, bytes, -5).error().message, HasSubstr("threads = -5"));
  EXPECT_THAT(op->run(x.data(), dy.data(), dw.data(), memory, bytes - 1).error().message, HasSubstr("are needed"));
  EXPECT_EQ(dw, std::vector<float>(dw.size(), 77));
}

}  // namespace
}  // namespace cubejit::tbe
