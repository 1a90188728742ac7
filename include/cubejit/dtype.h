// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which element types exist and how many bytes each takes in memory. Leaves conversions of 16 bits to float16.h.
#pragma once

#include <cstdint>

namespace cubejit {

/// Element type of a tensor. Sums are f32 for all of them; a result is rounded once, to nearest even, when it is stored.
enum class DType : std::uint8_t {
  kF32,
  kF16,  ///< IEEE binary16; widened exactly, denormals included
  kBf16,  ///< the upper half of an f32. On ISA level avx512_bf16 its own instructions multiply and round: denormals count as zero
  kHf32,     ///< f32 in memory; factors are rounded to 11 mantissa bits (1+8+11, Ascend A2 and A3), ties away from zero
  kHf32Low,  ///< the same with 10 mantissa bits (1+8+10, Ascend 950)
  kI8,       ///< signed integers, of kernels' tensors alone; a result is saturated, and a NaN becomes -128
  kI32,      ///< the same of 32 bits; a result outside their range, or a NaN, becomes -2^31
};

constexpr std::int64_t byteSize(DType t) { return t == DType::kI8 ? 1 : t == DType::kF16 || t == DType::kBf16 ? 2 : 4; }
constexpr bool isInteger(DType t) { return t == DType::kI8 || t == DType::kI32; }
constexpr bool isHf32(DType t) { return t == DType::kHf32 || t == DType::kHf32Low; }
constexpr const char* toString(DType t) {
  return t == DType::kF32    ? "f32"
         : t == DType::kF16  ? "f16"
         : t == DType::kBf16 ? "bf16"
         : t == DType::kHf32 ? "hf32"
         : t == DType::kI8   ? "i8"
         : t == DType::kI32  ? "i32"
                             : "hf32_low";
}

}  // namespace cubejit
