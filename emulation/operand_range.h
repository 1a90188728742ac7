// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when dot products of bf16 pairs leave the bits that fused multiply-adds leave. Both round each product's sum once, in the same
// order; a dot product alone counts denormal operands, sums and results as zero. Where no denormal can arise the two agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cubejit {

/// What is known of bf16 elements: exponents, as they are stored, of the least and the largest of those that are not zero.
struct OperandRange {
  std::int32_t least = 127, most = 127;
};

/// Of `count` elements.
OperandRange rangeOf(const std::byte* elements, std::int64_t count);

/// A value of stored exponent e is a multiple of 2^(e - 127 - 7), so products of a and b, and all sums of them however often rounded,
/// are multiples of 2^(least(a) + least(b) - 268). Denormals of f32 are below 2^-126: none is such a multiple from 142 on. Values are
/// below 2^(e - 126), so 2^40 products add up to less than 2^(most(a) + most(b) - 212), which stays finite up to 339. Denormal operands
/// have exponent 0, infinities and NaNs 255: they are refused.
inline bool pairsAreExact(const OperandRange& a, const OperandRange& b) {
  return a.least > 0 && b.least > 0 && a.most < 255 && b.most < 255 && a.least + b.least >= 142 &&
         a.most + b.most <= 339;
}

}  // namespace cubejit
