// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the 8-bit floating-point types stand for. All their numbers are FLOAT16's as well, so products are made of those; only
// results are rounded. Leaves where elements lie to strided.h.
#pragma once

#include <cstdint>

namespace cubejit::acl {

enum class EightBit : std::uint8_t {
  kNone,  ///< not a type of 8 bits
  kE4m3,  ///< FLOAT8_E4M3FN: 4 bits of exponent, 3 of mantissa, up to 448, no infinities (OCP 8-bit floating point, 1.0)
  kHif8,  ///< HIFLOAT8: 3 bits of mantissa near 1, fewer further away, up to 2^15, infinities (arXiv:2409.16626)
};

/// The number a code stands for, as FLOAT16; exact.
std::uint16_t eightBitToF16(EightBit type, std::uint8_t code);

/// The nearest code: of two, E4M3's even one (as its conversions do by default), HIFLOAT8's further from zero (its paper's rounding).
/// What rounds beyond the largest number becomes HIFLOAT8's infinity, or E4M3's NaN.
std::uint8_t floatToEightBit(EightBit type, float value);

}  // namespace cubejit::acl
