// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks how far elementary functions are from the exact ones, over all magnitudes, and what they make of infinities, zeros and NaN. That backends
// give the same bits is expression_code_test's question.
#include "codegen/tile/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cubejit {
namespace {

using Value = ExpressionValue;
using Function = Value (*)(Expression&, Value);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Evaluated {
 public:
  explicit Evaluated(Function function) { function(f_, Value::element()); }
  float operator()(float x) const { return f_.evaluate(x, 0, 0, 0); }

 private:
  Expression f_;
};

// In units of the last place of the exact result; of denormal ones, of the least normal number's.
double errorOf(float got, double exact) {
  if (std::isinf(got)) return std::fabs(exact) >= std::numeric_limits<float>::max() * (1 - 0x1p-24) ? 0 : 1e9;
  const double least = std::numeric_limits<float>::min();
  int exponent = 0;
  std::frexp(std::max(std::fabs(exact), least), &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, exponent - 24);
}

// The largest error over every `step`th f32 from `low` up to `high`, of the sign of low.
double worst(Function function, double (*exact)(double), float low, float high) {
  const Evaluated f(function);
  const std::uint32_t first = std::bit_cast<std::uint32_t>(low), last = std::bit_cast<std::uint32_t>(high);
  const std::uint32_t step = std::max<std::uint32_t>(1, (last - first) / 200000);
  double most = 0;
  for (std::uint32_t word = first; word < last && word >= first; word += step) {
    const float x = std::bit_cast<float>(word);
    most = std::max(most, errorOf(f(x), exact(x)));
  }
  return most;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Functions, AreAsExactAsTheySay) {
  EXPECT_LE(worst(expOf, std::exp, 0x1p-40F, 120), 1.5);
  EXPECT_LE(worst(expOf, std::exp, -0x1p-40F, -120), 1.5);
  EXPECT_LE(worst(logOf, std::log, 0x1p-149F, std::numeric_limits<float>::max()), 1.5);
  EXPECT_LE(worst(logOf, std::log, 0.5F, 2), 1.5);
  for (const float sign : {1.0F, -1.0F}) {
    EXPECT_LE(worst(sigmoidOf, sigmoid, sign * 0x1p-40F, sign * 120), 3);
    EXPECT_LE(worst(tanhOf, std::tanh, sign * 0x1p-100F, sign * 120), 3);
    EXPECT_LE(worst(tanhOf, std::tanh, sign * 0.25F, sign * 10), 3);
    EXPECT_LE(worst(erfOf, std::erf, sign * 0x1p-100F, sign * 120), 3);
    EXPECT_LE(worst(erfOf, std::erf, sign * 0.25F, sign * 5), 3);
  }
}

TEST(Functions, AtTheirEnds) {
  const Evaluated exp(expOf), log(logOf), sigmoid(sigmoidOf), tanh(tanhOf), erf(erfOf), minus(negativeOf);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(-kInfinity), 0.0F);
  EXPECT_EQ(exp(0), 1.0F);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_EQ(log(0), -kInfinity);
  EXPECT_EQ(log(-0.0F), -kInfinity);
  EXPECT_EQ(log(1), 0.0F);
  EXPECT_TRUE(std::isnan(log(-1)));
  EXPECT_TRUE(std::isnan(log(-kInfinity)));
  EXPECT_EQ(sigmoid(kInfinity), 1.0F);
  EXPECT_EQ(sigmoid(-kInfinity), 0.0F);
  EXPECT_EQ(tanh(-kInfinity), -1.0F);
  EXPECT_EQ(erf(kInfinity), 1.0F);
  EXPECT_TRUE(std::signbit(tanh(-0.0F)));
  EXPECT_TRUE(std::signbit(erf(-0.0F)));
  EXPECT_EQ(minus(-2), 2.0F);
  for (const Function f : {expOf, logOf, sigmoidOf, tanhOf, erfOf})
    EXPECT_TRUE(std::isnan(Evaluated(f)(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace cubejit
