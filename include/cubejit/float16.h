// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the 16-bit types and HF32 mean, bit by bit: the scalar functions that vector code and interpreters agree with.
// All rounding is to nearest, ties to even, except HF32's, which goes away from zero (see toHf32). Denormals are kept.
#pragma once

#include <cstdint>
#include <cstring>

namespace cubejit {

inline std::uint32_t bitsOf(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float floatOf(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

inline float bf16ToFloat(std::uint16_t bits) { return floatOf(static_cast<std::uint32_t>(bits) << 16); }

/// NaN becomes a quiet NaN of the same sign; the largest floats round to infinity.
inline std::uint16_t floatToBf16(float value) {
  const std::uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | 0x7fc0U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

inline float f16ToFloat(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16, exponent = bits >> 10 & 0x1fU,
                      mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU)  // infinity; NaN with its payload, quiet
    return floatOf(sign | 0x7f800000U | mantissa << 13 | (mantissa != 0 ? 0x400000U : 0U));
  if (exponent == 0) {  // mantissa * 2^-24 is exact in f32
    const float value = static_cast<float>(mantissa) * 5.9604644775390625e-8F;
    return sign != 0 ? -value : value;
  }
  return floatOf(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline std::uint16_t floatToF16(float value) {
  const std::uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)
    return static_cast<std::uint16_t>(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));  // quiet, payload kept
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);   // 65520 and above
  if (magnitude < 0x38800000U) {                                                     // below 2^-14: a denormal
    if (magnitude < 0x33000000U) return static_cast<std::uint16_t>(sign);            // below 2^-25
    const std::uint32_t shift = 126 - (magnitude >> 23), whole = (magnitude & 0x7fffffU) | 0x800000U;
    const std::uint32_t kept = whole >> shift, rest = whole & ((1U << shift) - 1), half = 1U << (shift - 1);
    return static_cast<std::uint16_t>(sign | (kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U)));
  }
  const std::uint32_t rebased = magnitude - (112U << 23);
  return static_cast<std::uint16_t>(sign | (rebased + 0xfffU + (rebased >> 13 & 1U)) >> 13);
}

/// f32 rounded to `mantissaBits` (11 or 10) explicit mantissa bits: half a unit is added and the rest dropped, so ties go away
/// from zero. NaN becomes a quiet NaN.
inline float toHf32(float value, int mantissaBits) {
  const std::uint32_t bits = bitsOf(value), sign = bits & 0x80000000U, magnitude = bits & 0x7fffffffU;
  const std::uint32_t dropped = 23U - static_cast<std::uint32_t>(mantissaBits), half = 1U << (dropped - 1);
  if (magnitude > 0x7f800000U) return floatOf(sign | 0x7fc00000U);
  return floatOf(sign | ((magnitude + half) & ~((1U << dropped) - 1)));
}

}  // namespace cubejit
