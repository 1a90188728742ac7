// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what 8-bit codes stand for, read field by field from the published definitions, and which is nearest by looking at all of
// them; shares nothing with the library.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "acl/acl.h"

namespace acl_test {

/// S EEEE MMM with bias 7; all ones is no number.
inline double e4m3Number(int code) {
  const int e = code >> 3 & 15, m = code & 7;
  const double sign = (code & 0x80) != 0 ? -1 : 1;
  if (e == 15 && m == 7) return std::numeric_limits<double>::quiet_NaN();
  return sign * (e == 0 ? m / 8.0 * std::pow(2, -6) : (1 + m / 8.0) * std::pow(2, e - 7));
}

/// Sign, then a dot field that tells the width of the exponent field, then exponent, then mantissa.
inline double hif8Number(int code) {
  int at = 7;
  const auto bit = [&] { return code >> --at & 1; };
  const double sign = (code & 0x80) != 0 ? -1 : 1;
  int width = -1;  // 11: 4, 10: 3, 01: 2, 001: 1, 0001: 0, 0000: none, the mantissa is an exponent
  if (bit() == 1) {
    width = bit() == 1 ? 4 : 3;
  } else if (bit() == 1) {
    width = 2;
  } else if (bit() == 1) {
    width = 1;
  } else if (bit() == 1) {
    width = 0;
  }
  if (width < 0) {
    const int m = code & 7;
    if (m == 0) return sign < 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
    return sign * std::pow(2, m - 23);
  }
  int exponent = 0;
  if (width > 0) {
    const bool negative = bit() == 1;
    exponent = 1;  // the leading bit of its magnitude is not stored
    for (int i = 1; i < width; ++i) exponent = exponent * 2 + bit();
    if (negative) exponent = -exponent;
  }
  if ((code & 0x7f) == 0x6f) return sign * std::numeric_limits<double>::infinity();
  const double steps = std::pow(2, at);
  return sign * (1 + (code & ((1 << at) - 1)) / steps) * std::pow(2, exponent);
}

inline double eightBitNumber(aclDataType type, int code) {
  return type == ACL_HIFLOAT8 ? hif8Number(code) : e4m3Number(code);
}

/// The nearest number; of two HIFLOAT8's further from zero, E4M3's even code. Behind the largest: infinity, or no number.
inline int nearestEightBit(aclDataType type, double value) {
  const bool hi = type == ACL_HIFLOAT8;
  if (std::isnan(value)) return hi ? 0x80 : 0x7f;
  const double most = hi ? 32768 : 448, beyond = hi ? 49152 : 480;
  const double limit = (most + beyond) / 2;
  const int sign = std::signbit(value) ? 0x80 : 0;
  const double size = std::fabs(value);
  if (hi ? size >= limit : size > limit) return sign | (hi ? 0x6f : 0x7f);
  int best = 0;
  for (int code = 1; code < 128; ++code) {
    const double have = std::fabs(eightBitNumber(type, best) - size), number = eightBitNumber(type, code);
    if (!std::isfinite(number)) continue;
    const double distance = std::fabs(number - size);
    const bool tie = distance == have && (hi ? number > eightBitNumber(type, best) : code % 2 == 0);
    if (distance < have || tie) best = code;
  }
  return hi && best == 0 ? 0 : sign | best;
}

}  // namespace acl_test
