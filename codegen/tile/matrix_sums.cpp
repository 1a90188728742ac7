// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/tile/matrix_sums.h"

#include <cmath>

#include "cubejit/float16.h"

namespace cubejit {
namespace {

// Denormals count as zero of their sign.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }

// Rounded to nearest even, and zero if it is tiny after rounding to the digits of a normal number.
float fusedFlushed(float x, float y, float z) {
  const float rounded = std::fma(x, y, z);
  if (std::fabs(rounded) != 0x1p-126F) return flushed(rounded);
  // The least normal number may be one that only the wider steps of denormals made. A product of 16-bit operands and a normal sum are exact.
  const double exact = std::fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z));
  return std::fabs(exact) < 0x1p-126 - 0x1p-151 ? std::copysign(0.0F, rounded) : rounded;
}

float member(std::uint32_t pair, int which, bool f16) {
  if (f16) return f16ToFloat(static_cast<std::uint16_t>(pair >> (16 * which)));
  return flushed(floatOf(which == 0 ? pair << 16 : pair & 0xffff0000U));
}

}  // namespace

float twoChains(float c, const std::uint32_t* a, const std::uint32_t* b, std::int64_t count, std::int64_t pitch,
                bool f16) {
  float even = 0, odd = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    even = fusedFlushed(member(a[k], 0, f16), member(b[k * pitch], 0, f16), even);
    odd = fusedFlushed(member(a[k], 1, f16), member(b[k * pitch], 1, f16), odd);
  }
  return flushed(flushed(c) + flushed(even + odd));
}

}  // namespace cubejit
