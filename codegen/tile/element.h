// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an element is to a move: how it is read into a 32-bit lane and how a lane is written back.
// Leaves vector code for it to units/element_code.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "cubejit/dtype.h"
#include "cubejit/float16.h"

namespace cubejit {

enum class Element : std::uint8_t {
  kF32,      ///< also any other 32-bit word: bits are kept
  kF16,      ///< in a lane: its f32
  kBf16,     ///< in a lane: its f32
  kHf32,     ///< f32; rounded to 11 mantissa bits when written
  kHf32Low,  ///< f32; rounded to 10 mantissa bits when written
  kHalf,     ///< any 16-bit word; in a lane: zero-extended
  kPair,  ///< read only: the 16-bit words at p and, if the pitch of pairs is not 0, at p + pitch, the first one below
  kBf16Flushed  ///< bf16 that is written by the ISA's own conversion: see roundFlushed()
};

constexpr std::int64_t elementBytes(Element e) {
  return e == Element::kF16 || e == Element::kBf16 || e == Element::kBf16Flushed || e == Element::kHalf ||
                 e == Element::kPair
             ? 2
             : 4;
}
constexpr const char* toString(Element e) {
  constexpr const char* kNames[] = {"f32", "f16", "bf16", "hf32", "hf32_low", "half", "pair", "bf16_flushed"};
  return kNames[static_cast<int>(e)];
}
constexpr Element elementOf(DType t) { return static_cast<Element>(t); }
static_assert(elementOf(DType::kF32) == Element::kF32 && elementOf(DType::kF16) == Element::kF16 &&
              elementOf(DType::kBf16) == Element::kBf16 && elementOf(DType::kHf32) == Element::kHf32 &&
              elementOf(DType::kHf32Low) == Element::kHf32Low);
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

/// Reads an element into a lane.
inline std::uint32_t readElement(Element e, const char* at, std::int64_t pairPitch) {
  if (elementBytes(e) == 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, 4);
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
  if (elementBytes(e) == 4) {
    std::memcpy(at, &lane, 4);
    return;
  }
  const std::uint16_t half = e == Element::kF16           ? floatToF16(floatOf(lane))
                             : e == Element::kBf16        ? floatToBf16(floatOf(lane))
                             : e == Element::kBf16Flushed ? roundFlushed(lane)
                                                          : static_cast<std::uint16_t>(lane);
  std::memcpy(at, &half, 2);
}

}  // namespace cubejit
