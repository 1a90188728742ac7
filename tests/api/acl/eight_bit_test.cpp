// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether HIFLOAT8 and FLOAT8_E4M3FN are read and rounded as their definitions say, code by code, in the convolutions that take
// them: the 950's transposed ones under its rules, any on the host.
#include <gtest/gtest.h>

#include <functional>

#include "random_cases.h"

namespace acl_test {
namespace {

constexpr aclDataType kEightBits[] = {ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};

std::vector<double> allNumbers(aclDataType type) {
  std::vector<double> numbers;
  for (int code = 0; code < 256; ++code) numbers.push_back(eightBitNumber(type, code));
  return numbers;
}

void expectSame(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
        << i << ": " << got[i] << " instead of " << want[i];
}

TEST(AclEightBit, LandmarksOfTheDefinitions) {
  EXPECT_EQ(hif8Number(0x08), 1);
  EXPECT_EQ(hif8Number(0x6e), 32768);
  EXPECT_EQ(hif8Number(0x7e), 1 / 32768.0);
  EXPECT_EQ(hif8Number(0x01), std::pow(2, -22));
  EXPECT_EQ(hif8Number(0x07), std::pow(2, -16));
  EXPECT_EQ(hif8Number(0x91), -2.25);
  EXPECT_EQ(e4m3Number(0x7e), 448);
  EXPECT_EQ(e4m3Number(0x01), std::pow(2, -9));
  EXPECT_EQ(e4m3Number(0xb8), -1);
}

// gradWeight is gradOutput times 1, in FLOAT: every code is read.
TEST(AclEightBit, EveryCodeIsRead) {
  for (const aclDataType type : kEightBits) {
    const OnPart on(type == ACL_HIFLOAT8 ? k950 : "host");
    Case c = simple({1, 1, 1}, {1, 256, 1}, {1, 256, 1}, type);
    c.transposed = true, c.mask = {true, true, false}, c.gradWeightType = ACL_FLOAT;
    Call call(c);
    call.dy->write(allNumbers(type));
    call.x->write({1.0});
    call.w->write(std::vector<double>(256, 0.0));
    ASSERT_EQ(call.phaseOne(), kOk) << message();
    ASSERT_EQ(call.phaseTwo(), kOk) << message();
    expectSame(call.dw->read(), allNumbers(type));
  }
}

// gradInput is gradOutput times 1, from FLOAT: numbers, the middles between them, and what is just beside those.
TEST(AclEightBit, ResultsAreRoundedToTheNearest) {
  for (const aclDataType type : kEightBits) {
    std::vector<double> values{0.0, 1e-30, 1e-7, -1e-8, 3e38, -3e38, 40959, 40960, 463.9, 464, 464.1, HUGE_VAL, NAN};
    std::vector<double> sorted;
    for (const double v : allNumbers(type))
      if (std::isfinite(v)) sorted.push_back(v);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
      const auto middle = static_cast<float>((sorted[i] + sorted[i + 1]) / 2);
      for (const float v :
           {static_cast<float>(sorted[i]), middle, std::nextafter(middle, 1e9F), std::nextafter(middle, -1e9F)})
        values.push_back(v);
    }
    const auto count = static_cast<std::int64_t>(values.size());
    Case c = simple({1, 1, count}, {1, 1, 1}, {1, 1, count}, ACL_FLOAT);
    c.mask = {true, false, false};
    Call call(c);
    call.dx = std::make_unique<OwnTensor>(c.x, type, ACL_FORMAT_NCL, Ints{2 * count + 1, 2 * count, 2}, 3);
    call.tensors[3] = call.dx->handle();
    call.dy->write(values);
    call.w->write({1.0});
    ASSERT_EQ(call.phaseOne(), kOk) << message();
    ASSERT_EQ(call.phaseTwo(), kOk) << message();
    std::vector<double> want;
    for (const double v : values) want.push_back(eightBitNumber(type, nearestEightBit(type, v)));
    expectSame(call.dx->read(), want);
    EXPECT_EQ(call.dx->strayBytes(), 0);
  }
}

// Whole numbers up to 4 are numbers of both types, and their sums are exact.
void randomProblems(const char* part, std::uint64_t seed, int count, const std::function<bool(Random&, Dice&)>& suits) {
  const OnPart on(part);
  Dice dice(seed);
  for (int i = 0; i < count && !::testing::Test::HasFailure();) {
    Random r = randomCase(dice);
    if (!suits(r, dice)) continue;
    ++i;
    SCOPED_TRACE(describe(r));
    Call call(r.call);
    if (dice.oneIn(2)) {
      TensorPtr* const tensors[] = {&call.dy, &call.x, &call.w, &call.dx, &call.dw};
      for (std::size_t t = 0; t < 5; ++t) {
        const Ints dims = (*tensors[t])->dims();
        const aclDataType type = t == 4 ? r.call.gradWeightType.value_or(r.call.type) : r.call.type;
        *tensors[t] = randomTensor(dice, dims, type, formatOfRank(dims.size()), true);
        call.tensors[t] = (*tensors[t])->handle();
      }
    }
    const std::vector<double> dy = wholeNumbers(dice, call.dy->elements()), x = wholeNumbers(dice, call.x->elements()),
                              w = wholeNumbers(dice, call.w->elements());
    call.dy->write(dy), call.x->write(x), call.w->write(w);
    ASSERT_EQ(call.phaseOne(), kOk) << message();
    ASSERT_EQ(call.phaseTwo(), kOk) << message();
    const Gradients g = formula(r.geometry, dy, x, w);
    const std::pair<OwnTensor*, const std::vector<double>*> outputs[] = {
        {call.dx.get(), &g.dx}, {call.dw.get(), &g.dw}, {call.db.get(), &g.db}};
    for (std::size_t o = 0; o < 3; ++o) {
      if (!r.call.mask[o]) {
        EXPECT_TRUE(outputs[o].first->untouched());
        continue;
      }
      std::vector<double> want;
      for (const double v : *outputs[o].second) want.push_back(outputs[o].first->rounded(v));
      expectSame(outputs[o].first->read(), want);
      EXPECT_EQ(outputs[o].first->strayBytes(), 0);
    }
  }
}

bool asOn950(Random& r, Dice& dice) {
  if (!r.geometry.transposed) return false;
  const bool plain = r.call.groups == 1 && r.call.outputPadding == Ints(r.call.outputPadding.size(), 0);
  r.call.type = kEightBits[dice.in(0, 1)];
  r.call.mask = {true, plain && r.call.type == ACL_HIFLOAT8 && dice.oneIn(2), dice.oneIn(2)};
  r.call.gradWeightType = ACL_FLOAT;
  return true;
}

TEST(AclEightBit, RandomTransposedConvolutionsOfThe950) { randomProblems(k950, 3, 150, asOn950); }

TEST(AclEightBit, EmulatedThe950GivesTheSame) {
  const Emulated emulated;
  randomProblems(k950, 4, 60, asOn950);
}

TEST(AclEightBit, RandomConvolutionsOfTheHost) {
  randomProblems("host", 5, 150, [](Random& r, Dice& dice) {
    r.call.type = kEightBits[dice.in(0, 1)];
    if (dice.oneIn(3)) r.call.gradWeightType = kFloatTypes[dice.in(0, 2)];
    return true;
  });
}

TEST(AclEightBit, TheRulesOfThe950) {
  const auto code = [](const char* part, const Case& c) {
    const OnPart on(part);
    return statusOf(c);
  };
  Case c = simple({1, 16, 8, 8}, {16, 16, 3, 3}, {1, 16, 10, 10}, ACL_HIFLOAT8);
  c.transposed = true, c.mask = {true, false, true};
  EXPECT_EQ(code(k950, c), kOk) << message();
  for (const int mode : {1, 2, 3}) {
    c.mathType = mode;
    EXPECT_EQ(code(k950, c), kOk) << message();
  }
  c.mathType = 0;
  for (const char* other : {"Ascend910B2", "Ascend910A", "Ascend310P3"}) EXPECT_EQ(code(other, c), kInvalid);
  Case broken = c;
  broken.biasType = ACL_FLOAT;
  EXPECT_EQ(code(k950, broken), kInvalid) << message();
  broken = c, broken.mask = {false, false, true};
  EXPECT_EQ(code(k950, broken), kInvalid) << message();
  broken = c, broken.mask = {true, true, false};  // gradWeight must be FLOAT
  EXPECT_EQ(code(k950, broken), kInvalid) << message();
  broken.gradWeightType = ACL_FLOAT;
  EXPECT_EQ(code(k950, broken), kOk) << message();
  broken.type = ACL_FLOAT8_E4M3FN;
  EXPECT_EQ(code(k950, broken), kInvalid) << message();
  broken = c, broken.transposed = false;
  std::swap(broken.x, broken.y);
  EXPECT_EQ(code(k950, broken), kInvalid);
  EXPECT_NE(message().find("unless transposed"), std::string::npos) << message();
}

TEST(AclEightBit, EmptyTensorsGiveZeros) {
  const OnPart on(k950);
  Case c = simple({0, 4, 6}, {4, 3, 1}, {0, 3, 6}, ACL_HIFLOAT8);
  c.transposed = true, c.mask = {true, false, true}, c.biasSizes = Ints{3};
  Call call(c);
  ASSERT_EQ(call.phaseOne(), kOk) << message();
  ASSERT_EQ(call.phaseTwo(), kOk) << message();
  EXPECT_EQ(call.db->read(), std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace acl_test
