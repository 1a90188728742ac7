// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides both types by a table each of what the codes 0 to 127 stand for; the other half is negative.
#include "api/acl/eight_bit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cubejit/float16.h"

namespace cubejit::acl {
namespace {

float e4m3(int code) {
  const int exponent = code >> 3, mantissa = code & 7;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

// A prefix says how many bits the exponent has, 11 four, 10 three, 01 two, 001 one, 0001 none; a sign and all but its leading 1 are
// stored. The rest is mantissa. Prefix 0000: three bits that count powers of two from 2^-22.
float hif8(int code) {
  if (code < 8) return code == 0 ? 0.0F : std::ldexp(1.0F, code - 23);
  const int bits = code >= 96 ? 4 : code >= 64 ? 3 : code >= 32 ? 2 : code >= 16 ? 1 : 0;
  const int mantissaBits = bits == 4 ? 1 : bits == 3 ? 2 : 3;
  const int mantissa = code & ((1 << mantissaBits) - 1), field = code >> mantissaBits & ((1 << bits) - 1);
  int exponent = 0;
  if (bits > 0) {
    const int low = field & ((1 << (bits - 1)) - 1), magnitude = (1 << (bits - 1)) | low;
    exponent = field >> (bits - 1) != 0 ? -magnitude : magnitude;
  }
  return std::ldexp(static_cast<float>((1 << mantissaBits) + mantissa), exponent - mantissaBits);
}

struct Code {
  float number;
  std::uint8_t code;
};

// The finite numbers from small to large, and what the step behind the largest would lead to.
struct Table {
  std::array<Code, 128> codes{};
  std::size_t count = 0;
  float beyond = 0;
  std::uint8_t overflow = 0;  // what numbers of at least `beyond` round to
  std::uint8_t nan = 0;
};

Table make(EightBit type) {
  const bool hi = type == EightBit::kHif8;
  Table t;
  t.overflow = hi ? 0x6f : 0x7f, t.nan = hi ? 0x80 : 0x7f;
  for (int code = 0; code < 128; ++code) {
    if (code != t.overflow) t.codes[t.count++] = {hi ? hif8(code) : e4m3(code), static_cast<std::uint8_t>(code)};
  }
  std::sort(t.codes.begin(), t.codes.begin() + static_cast<std::ptrdiff_t>(t.count),
            [](const Code& a, const Code& b) { return a.number < b.number; });
  t.beyond = hi ? hif8(0x6f) : e4m3(0x7f);
  return t;
}

const Table& tableOf(EightBit type) {
  static const Table kTables[] = {make(EightBit::kE4m3), make(EightBit::kHif8)};
  return kTables[type == EightBit::kHif8 ? 1 : 0];
}

}  // namespace

std::uint16_t eightBitToF16(EightBit type, std::uint8_t code) {
  const bool hi = type == EightBit::kHif8;
  const std::uint16_t sign = (code & 0x80) != 0 ? 0x8000 : 0;
  const int magnitude = code & 0x7f;
  if (hi && code == 0x80) return 0x7e00;
  if (magnitude == (hi ? 0x6f : 0x7f)) return sign | (hi ? 0x7c00 : 0x7e00);
  return sign | floatToF16(hi ? hif8(magnitude) : e4m3(magnitude));
}

std::uint8_t floatToEightBit(EightBit type, float value) {
  const Table& t = tableOf(type);
  if (std::isnan(value)) return t.nan;
  const bool hi = type == EightBit::kHif8;
  const float size = std::fabs(value);
  const Code* const end = t.codes.data() + t.count;
  const Code* const above =
      std::lower_bound(t.codes.data(), end, size, [](const Code& c, float v) { return c.number < v; });
  std::uint8_t code = 0;
  if (above != end && above->number == size) {
    code = above->code;
  } else {
    const Code& below = above[-1];
    const Code next = above == end ? Code{t.beyond, t.overflow} : *above;
    const float down = size - below.number, up = next.number - size;  // exact: the numbers have few bits
    const bool tieUp = hi || (below.code & 1) != 0;
    code = up < down || (up == down && tieUp) ? next.code : below.code;
  }
  if (hi && code == 0) return 0;  // its zero has no sign
  return static_cast<std::uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

}  // namespace cubejit::acl
