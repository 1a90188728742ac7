// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what operands allow, from their exponents: when dot products of bf16 pairs leave the bits that fused multiply-adds leave,
// and when products with zero may be left out. A dot product rounds each product's sum once, in the same order; it alone counts denormal
// operands, sums and results as zero. Where no denormal can arise the two agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cubejit/dtype.h"

namespace cubejit {

/// What is known of elements: exponents, as they are stored, of the least and the largest of those that are not zero.
struct ExponentRange {
  std::int32_t least = 127, most = 127;  ///< of f16 without any: 15
};

/// The range of `count` elements.
ExponentRange rangeOf(const std::byte* elements, std::int64_t count, DType type);

/// A value of stored exponent e is a multiple of 2^(e - 127 - 7), so products of a and b, and all sums of them however often rounded,
/// are multiples of 2^(least(a) + least(b) - 268). Denormals of f32 are below 2^-126: none is such a multiple from 142 on. Values are
/// below 2^(e - 126), so 2^40 products add up to less than 2^(most(a) + most(b) - 212), which stays finite up to 339. Denormal operands
/// have exponent 0, infinities and NaNs 255: they are refused.
inline bool pairsAreExact(const ExponentRange& a, const ExponentRange& b) {
  return a.least > 0 && b.least > 0 && a.most < 255 && b.most < 255 && a.least + b.least >= 142 &&
         a.most + b.most <= 339;
}

/// Whether sums stay bit by bit when products of zeros among A and elements of B are left out. 0 x b is a zero unless b is infinite or
/// NaN, and adding a zero changes only -0. Sums begin at +0 and become -0 by underflow alone: not where products are multiples of the
/// least denormal, 2^-149. An element of stored exponent e (0 counts as 1) is a multiple of 2^(e - 134) for bf16, 2^(e - 150) for f32;
/// f16 products are multiples of 2^-48. HF32 rounds up to infinity what has exponent 254.
inline bool zerosAddNothing(DType type, const ExponentRange& a, const ExponentRange& b) {
  if (type == DType::kF16) return b.most < 31;
  const std::int32_t least = std::max(a.least, 1) + std::max(b.least, 1);
  return b.most < (type == DType::kBf16 ? 255 : 254) && least >= (type == DType::kBf16 ? 119 : 151);
}

}  // namespace cubejit
