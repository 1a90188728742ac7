// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an element is to a move: how it is read into a 32-bit lane and how a lane is written back.
// Leaves vector code for it to units/element_code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cubejit/dtype.h"
#include "cubejit/float16.h"

namespace cubejit {

enum class Element : std::uint8_t {
  kF32,      ///< also any other 32-bit word: bits are kept
  kF16,      ///< in a lane: its f32
  kBf16,     ///< in a lane: its f32
  kHf32,     ///< f32; rounded to 11 mantissa bits when written
  kHf32Low,  ///< f32; rounded to 10 mantissa bits when written
  kI8,       ///< a signed integer; in a lane: its f32. Rounded to nearest even and saturated when written; a NaN: -128
  kI32,  ///< the same, rounded to nearest even in a lane, too; what is outside the range, or a NaN, is written as -2^31
  kHalf,  ///< any 16-bit word; in a lane: zero-extended
  kPair,  ///< read only: the 16-bit words at p and, if the pitch of pairs is not 0, at p + pitch, the first one below
  kQuad,  ///< read only: the bytes at p and at one, two and three pitches of pairs behind, the first one lowest; some of the last may be missing (zero)
  kBf16Flushed  ///< bf16 that is written by the ISA's own conversion: see roundFlushed()
};

constexpr std::int64_t elementBytes(Element e) {
  if (e == Element::kI8 || e == Element::kQuad) return 1;
  return e == Element::kF16 || e == Element::kBf16 || e == Element::kBf16Flushed || e == Element::kHalf ||
                 e == Element::kPair
             ? 2
             : 4;
}
constexpr const char* toString(Element e) {
  constexpr const char* kNames[] = {"f32", "f16",  "bf16", "hf32", "hf32_low",    "i8",
                                    "i32", "half", "pair", "quad", "bf16_flushed"};
  return kNames[static_cast<int>(e)];
}
constexpr Element elementOf(DType t) { return static_cast<Element>(t); }
static_assert(elementOf(DType::kF32) == Element::kF32 && elementOf(DType::kF16) == Element::kF16 &&
              elementOf(DType::kBf16) == Element::kBf16 && elementOf(DType::kHf32) == Element::kHf32 &&
              elementOf(DType::kHf32Low) == Element::kHf32Low && elementOf(DType::kI8) == Element::kI8 &&
              elementOf(DType::kI32) == Element::kI32);
/// Whether elements are read and written by conversions from and to integers.
constexpr bool isInteger(Element e) { return e == Element::kI8 || e == Element::kI32; }
/// The type that memory holds of a tensor: HF32 is a rounding of operands, and lies there as f32.
constexpr Element storedElement(DType t) { return isHf32(t) ? Element::kF32 : elementOf(t); }

/// To bf16 as the conversion of AVX512-BF16 does it: to nearest even; denormals are zero of their sign; a NaN becomes quiet and
/// keeps the upper part of its payload. Source: compared with the instruction on 4 million words.
inline std::uint16_t roundFlushed(std::uint32_t lane) {
  const std::uint32_t magnitude = lane & 0x7fffffffU;
  if (magnitude < 0x00800000U) return static_cast<std::uint16_t>(lane >> 16 & 0x8000U);
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(lane >> 16 | 0x40U);
  return static_cast<std::uint16_t>((lane + 0x7fffU + (lane >> 16 & 1U)) >> 16);
}

/// Two pairs of bf16 multiplied and added: the upper members first, each product in one fused operation; denormal operands and
/// sums count as zero. That is what the hardware's dot product does, found out with random operands.
inline float dotPairs(float sum, std::uint32_t a, std::uint32_t b) {
  const auto flushed = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; };
  const auto upper = [&](std::uint32_t pair) { return flushed(floatOf(pair & 0xffff0000U)); };
  const auto lower = [&](std::uint32_t pair) { return flushed(floatOf(pair << 16)); };
  sum = flushed(std::fma(upper(a), upper(b), flushed(sum)));
  return flushed(std::fma(lower(a), lower(b), sum));
}

/// Four unsigned bytes of `a` times four signed ones of `b`, added modulo 2^32.
inline std::uint32_t dotBytes(std::uint32_t sum, std::uint32_t a, std::uint32_t b) {
  for (int byte = 0; byte < 32; byte += 8)
    sum += (a >> byte & 0xffU) * static_cast<std::uint32_t>(static_cast<std::int8_t>(b >> byte & 0xffU));
  return sum;
}
/// The same of signed bytes on both sides.
inline std::uint32_t dotQuads(std::uint32_t sum, std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kSigns = 0x80808080U;
  return dotBytes(sum, a ^ kSigns, b) - dotBytes(0, kSigns, b);  // a ^ signs: a + 128
}

/// To the nearest integer, even ones at ties; -2^31 if that is none of 32 bits, or a NaN.
inline std::int32_t roundToInt(float x) {
  const float rounded = std::nearbyint(x);
  return rounded >= -0x1p31F && rounded < 0x1p31F ? static_cast<std::int32_t>(rounded)
                                                  : std::numeric_limits<std::int32_t>::min();
}
/// x * 2^floor(power), rounded once; an infinite power decides, and a NaN otherwise is the result, as of AVX-512's VSCALEFPS.
inline float scaledBy(float x, float power) {
  constexpr float kBeyond = 400;  // the result is zero or infinite
  if (std::isnan(power) || std::isnan(x)) return std::isinf(power) ? std::exp2(power) : std::isnan(x) ? x : power;
  if (std::isinf(power) && (power > 0 ? x == 0 : std::isinf(x))) return x * std::exp2(power);
  return std::scalbn(x, static_cast<int>(std::floor(std::clamp(power, -kBeyond, kBeyond))));
}
inline std::int8_t saturated(std::int32_t x) { return static_cast<std::int8_t>(std::clamp(x, -128, 127)); }

/// Reads an element into a lane; `missing`: so many of a quad's last bytes are not there.
inline std::uint32_t readElement(Element e, const char* at, std::int64_t pairPitch, std::int64_t missing = 0) {
  if (e == Element::kI8) return bitsOf(static_cast<float>(static_cast<signed char>(*at)));
  if (e == Element::kQuad) {
    std::uint32_t quad = 0;
    for (std::int64_t member = 0; member < 4 - missing; ++member)
      quad |= static_cast<std::uint32_t>(static_cast<unsigned char>(at[member * pairPitch])) << (8 * member);
    return quad;
  }
  if (elementBytes(e) == 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, 4);
    if (e == Element::kI32) return bitsOf(static_cast<float>(static_cast<std::int32_t>(word)));
    return word;
  }
  std::uint16_t half = 0, second = 0;
  std::memcpy(&half, at, 2);
  if (e == Element::kF16) return bitsOf(f16ToFloat(half));
  if (e == Element::kBf16 || e == Element::kBf16Flushed) return static_cast<std::uint32_t>(half) << 16;
  if (e == Element::kPair && pairPitch != 0) std::memcpy(&second, at + pairPitch, 2);
  return half | static_cast<std::uint32_t>(second) << 16;
}

/// Writes a lane as an element.
inline void writeElement(Element e, char* at, std::uint32_t lane) {
  if (e == Element::kHf32 || e == Element::kHf32Low)
    lane = bitsOf(toHf32(floatOf(lane), e == Element::kHf32 ? 11 : 10));
  if (e == Element::kI32) lane = static_cast<std::uint32_t>(roundToInt(floatOf(lane)));
  if (elementBytes(e) == 4) {
    std::memcpy(at, &lane, 4);
    return;
  }
  if (e == Element::kI8) {
    const float x = floatOf(lane);
    *at = static_cast<char>(saturated(roundToInt(127.0F < x ? 127.0F : x)));
    return;
  }
  const std::uint16_t half = e == Element::kF16           ? floatToF16(floatOf(lane))
                             : e == Element::kBf16        ? floatToBf16(floatOf(lane))
                             : e == Element::kBf16Flushed ? roundFlushed(lane)
                                                          : static_cast<std::uint16_t>(lane);
  std::memcpy(at, &half, 2);
}

}  // namespace cubejit
