// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that conversions are right for every 16-bit value and every tie between two of them, in generated code and in the
// scalar functions, against oracles that share nothing with either: the compiler's half, and doubles.
#include "codegen/tile/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "codegen/backend.h"
#include "codegen/tile/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vectorize.h"
#include "tests/support/run_code.h"

namespace cubejit {
namespace {

// f32 values around every 16-bit value of the type: itself, the tie above it, and the neighbours of the tie.
std::vector<float> aroundTies(bool bf16) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value =
        bf16 ? bf16ToFloat(static_cast<std::uint16_t>(bits)) : f16ToFloat(static_cast<std::uint16_t>(bits));
    values.push_back(value);
    if (!std::isfinite(value)) continue;
    const std::uint16_t next = static_cast<std::uint16_t>(bits + 1);
    const double other = bf16 ? bf16ToFloat(next) : f16ToFloat(next);
    // Behind the largest value the tie lies as if the next power of two existed.
    const double step =
        std::isfinite(other) ? other - value : value - (bf16 ? bf16ToFloat(bits - 1) : f16ToFloat(bits - 1));
    const auto tie = static_cast<float>(value + step / 2);
    for (const float v : {std::nextafterf(tie, 0.0F), tie, std::nextafterf(tie, std::copysign(INFINITY, tie))})
      values.push_back(v);
  }
  for (const std::uint32_t nan : {0x7f800001U, 0xff800001U, 0x7fffffffU, 0xffffffffU, 0x7fc00000U})
    values.push_back(floatOf(nan));
  for (std::uint32_t i = 1; i < 4000; ++i) values.push_back(floatOf(i * 7919U));  // f32 denormals
  while (values.size() % 16 != 5) values.push_back(1.0F);                         // a tail
  return values;
}

// Nearest multiple of the unit that `bits` explicit mantissa bits leave, ties to even; unbounded exponent below.
double nearest(double value, int bits, int leastExponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), leastExponent);
  const double unit = std::ldexp(1.0, exponent - bits);
  return std::nearbyint(value / unit) * unit;
}

std::uint16_t oracleBf16(float value) {
  if (std::isnan(value)) return static_cast<std::uint16_t>(std::signbit(value) ? 0xffc0 : 0x7fc0);
  const double rounded = nearest(value, 7, -126);
  const float inRange = std::fabs(rounded) >= 0x1p128 ? std::copysign(INFINITY, value) : static_cast<float>(rounded);
  return static_cast<std::uint16_t>(bitsOf(std::copysign(inRange, value)) >> 16);
}

#if defined(__aarch64__)
using CompilerHalf = __fp16;  // GCC 12 has no _Float16 in C++ there
#else
using CompilerHalf = _Float16;
#endif

std::uint16_t oracleF16(float value) {
  const auto half = static_cast<CompilerHalf>(value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &half, 2);
  return bits;
}

float oracleHf32(float value, int bits) {
  if (!std::isfinite(value)) return value;
  const double unit = std::ldexp(1.0, std::max(value == 0 ? -126 : std::ilogb(value), -126) - bits);
  const double rounded = std::floor(std::fabs(static_cast<double>(value)) / unit + 0.5) * unit;
  return std::copysign(rounded >= 0x1p128 ? INFINITY : static_cast<float>(rounded), value);
}

class Conversions : public testing::TestWithParam<IsaLevel> {
 protected:
  // The copy of `count` elements as a row, in generated code; the tile interpreter must give the same bytes.
  std::vector<char> moved(Element from, Element to, const void* source, std::size_t count) {
    const auto cols = static_cast<std::int64_t>(count);
    const Copy m{.lanes = isaOf(GetParam()).lanes(),
                 .rows = 1,
                 .cols = cols,
                 .srcPitch = cols * elementBytes(from),
                 .dstPitch = cols * elementBytes(to),
                 .from = from,
                 .to = to,
                 .label = "convert"};
    std::vector<char> wanted(count * static_cast<std::size_t>(elementBytes(to))), got = wanted;
    KernelArgs args;
    args.a = source;
    args.c = wanted.data();
    args.repeat = 1;
    interpret(m, args);
    const auto vector = vectorize(m, isaOf(GetParam()));
    EXPECT_TRUE(vector.ok());
    const auto legal = legalize(*vector);
    EXPECT_TRUE(legal.ok()) << legal.error().message;
    const auto code = emitXbyak(*legal);
    EXPECT_TRUE(code.ok());
    args.c = got.data();
    if (!hostRuns(GetParam())) return wanted;
    EXPECT_TRUE(runCode(*code, args));
    EXPECT_EQ(wanted, got) << toString(from) << " to " << toString(to);
    return got;
  }
  template <class T>
  static T at(const std::vector<char>& bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
};

TEST_P(Conversions, WideningIsExactForAll65536Values) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const auto f16 = moved(Element::kF16, Element::kF32, all.data(), all.size()),
             bf16 = moved(Element::kBf16, Element::kF32, all.data(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CompilerHalf half;
    std::memcpy(&half, &all[i], 2);
    const auto want = static_cast<float>(half);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(at<float>(f16, i)));
    else
      ASSERT_EQ(at<std::uint32_t>(f16, i), bitsOf(want)) << i;
    ASSERT_EQ(at<std::uint32_t>(bf16, i), i << 16);
  }
  EXPECT_EQ(
      std::memcmp(moved(Element::kHalf, Element::kHalf, all.data(), all.size()).data(), all.data(), all.size() * 2), 0);
}

TEST_P(Conversions, NarrowingRoundsEveryTieToEven) {
  const std::vector<float> f16 = aroundTies(false), bf16 = aroundTies(true);
  const auto halves = moved(Element::kF32, Element::kF16, f16.data(), f16.size());
  for (std::size_t i = 0; i < f16.size(); ++i) {
    if (std::isnan(f16[i]))
      ASSERT_TRUE(std::isnan(f16ToFloat(at<std::uint16_t>(halves, i))));
    else
      ASSERT_EQ(at<std::uint16_t>(halves, i), oracleF16(f16[i])) << f16[i];
  }
  const auto brains = moved(Element::kF32, Element::kBf16, bf16.data(), bf16.size());
  for (std::size_t i = 0; i < bf16.size(); ++i) ASSERT_EQ(at<std::uint16_t>(brains, i), oracleBf16(bf16[i])) << bf16[i];
}

TEST_P(Conversions, Hf32RoundsTiesAwayFromZero) {
  for (const auto& [element, bits] : {std::pair{Element::kHf32, 11}, std::pair{Element::kHf32Low, 10}}) {
    std::vector<float> values = aroundTies(true);
    for (std::uint32_t i = 0; i < 40000; ++i) values.push_back(floatOf(i * 104729U));  // all exponents, tie and no tie
    for (std::uint32_t i = 0; i < 4096; ++i) values.push_back(floatOf(0x3f800000U + i * 0x400U));
    const auto got = moved(Element::kF32, element, values.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i]))
        ASSERT_TRUE(std::isnan(at<float>(got, i)));
      else
        ASSERT_EQ(at<std::uint32_t>(got, i), bitsOf(oracleHf32(values[i], bits))) << values[i];
    }
  }
}

TEST_P(Conversions, IntegersAreTheirF32) {
  std::vector<std::int8_t> bytes;
  for (int i = -128; i < 128; ++i) bytes.push_back(static_cast<std::int8_t>(i));
  const auto small = moved(Element::kI8, Element::kF32, bytes.data(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(at<float>(small, i), static_cast<float>(bytes[i]));
  std::vector<std::int32_t> words{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  for (std::uint32_t i = 0; i < 40000; ++i) words.push_back(static_cast<std::int32_t>(i * 104729U));
  for (std::int32_t i = -9; i < 10; ++i) words.push_back((1 << 24) + i), words.push_back(-(1 << 25) + i);
  const auto large = moved(Element::kI32, Element::kF32, words.data(), words.size());
  for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(at<float>(large, i), static_cast<float>(words[i]));
  EXPECT_EQ(std::memcmp(moved(Element::kI32, Element::kI32, words.data(), words.size()).data(), words.data(),
                        4 * words.size()),
            0);
  EXPECT_EQ(
      std::memcmp(moved(Element::kI8, Element::kI8, bytes.data(), bytes.size()).data(), bytes.data(), bytes.size()), 0);
}

TEST_P(Conversions, IntegersAreRoundedToNearestEvenAndLimited) {
  std::vector<float> values{-0.0F, 1e30F, -1e30F, INFINITY, -INFINITY, 0x1p31F, -0x1p31F, 0x1.fffffep30F, 3e9F, 1e-40F};
  for (int i = -600; i <= 600; ++i) values.push_back(static_cast<float>(i) * 0.25F);
  for (int i = -9; i < 10; ++i) values.push_back(4e6F + static_cast<float>(i) * 0.5F);
  const auto bytes = moved(Element::kF32, Element::kI8, values.data(), values.size()),
             words = moved(Element::kF32, Element::kI32, values.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(values[i]), down = std::floor(x), rest = x - down;
    const double nearest = !std::isfinite(x)                                        ? x
                           : rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0) ? down + 1
                                                                                    : down;
    ASSERT_EQ(static_cast<int>(at<std::int8_t>(bytes, i)), static_cast<int>(std::clamp(nearest, -128.0, 127.0))) << x;
    const bool within = nearest >= -0x1p31 && nearest < 0x1p31;
    ASSERT_EQ(static_cast<double>(at<std::int32_t>(words, i)), within ? nearest : -0x1p31) << x;
  }
  const std::vector<float> none(20, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(at<std::int8_t>(moved(Element::kF32, Element::kI8, none.data(), none.size()), 17), -128);
  EXPECT_EQ(at<std::int32_t>(moved(Element::kF32, Element::kI32, none.data(), none.size()), 17),
            std::numeric_limits<std::int32_t>::min());
}

// The instruction against what the interpreters say it does: every upper half, with lower halves around the tie.
TEST_P(Conversions, TheIsasOwnRoundingIsWhatWeSayItIs) {
  if (!isaOf(GetParam()).bf16Dot) GTEST_SKIP() << "no instruction for it";
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower : {0x0U, 0x1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      values.push_back(floatOf(upper << 16 | lower));
  }
  const auto got = moved(Element::kF32, Element::kBf16Flushed, values.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = at<std::uint16_t>(got, i);
    if (std::isnan(values[i]))
      ASSERT_TRUE(std::isnan(floatOf(std::uint32_t{half} << 16)));
    else if (std::fpclassify(values[i]) == FP_SUBNORMAL)
      ASSERT_EQ(half, std::signbit(values[i]) ? 0x8000U : 0U) << values[i];
    else
      ASSERT_EQ(half, oracleBf16(values[i])) << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Conversions, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                         [](const auto& param) { return std::string(toString(param.param)); });

}  // namespace
}  // namespace cubejit
