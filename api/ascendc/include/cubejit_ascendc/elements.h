// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what half and bfloat16_t are on a host: 16 bits that convert to and from float, rounded to nearest even. C++17.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cubejit/dtype.h"
#include "cubejit/float16.h"

namespace cubejit::ascendc {

/// A 16-bit float. Arithmetic is float's; what is stored is rounded once.
template <float (*Widen)(std::uint16_t), std::uint16_t (*Round)(float)>
class Float16 {
 public:
  Float16() = default;
  Float16(float value) : bits_(Round(value)) {}    // NOLINT(google-explicit-constructor): as on the device
  operator float() const { return Widen(bits_); }  // NOLINT(google-explicit-constructor): as on the device
  Float16& operator+=(float other) { return *this = *this + other; }
  Float16& operator-=(float other) { return *this = *this - other; }
  Float16& operator*=(float other) { return *this = *this * other; }
  Float16& operator/=(float other) { return *this = *this / other; }

  std::uint16_t bits() const { return bits_; }
  static Float16 fromBits(std::uint16_t bits) {
    Float16 value;
    value.bits_ = bits;
    return value;
  }

 private:
  std::uint16_t bits_;
};

}  // namespace cubejit::ascendc

// Visible at global scope, as device code has them.
using half = cubejit::ascendc::Float16<cubejit::f16ToFloat, cubejit::floatToF16>;
using bfloat16_t = cubejit::ascendc::Float16<cubejit::bf16ToFloat, cubejit::floatToBf16>;

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half>, "lies in memory as on the device");

namespace cubejit::ascendc {

/// The library's name of an element type the cube multiplies or stores.
template <class T>
constexpr bool kIsCubeElement = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>;
template <class T>
constexpr DType kDTypeOf = std::is_same_v<T, half>         ? DType::kF16
                           : std::is_same_v<T, bfloat16_t> ? DType::kBf16
                                                           : DType::kF32;

}  // namespace cubejit::ascendc
