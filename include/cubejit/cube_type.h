// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which element types a cube unit can multiply in a convolution's gradient. Leaves to each Machine which of them its
// cube has, and at which speed.
#pragma once

#include <cstdint>

namespace cubejit {

/// Operand type of a cube step; sums are always f32. hf32 is f32 in memory, shortened on its way into the cube.
enum class CubeType : std::uint8_t { kF16, kBF16, kF32, kHF32 };
inline constexpr CubeType kCubeTypes[] = {CubeType::kF16, CubeType::kBF16, CubeType::kF32, CubeType::kHF32};

constexpr const char* toString(CubeType t) {
  return t == CubeType::kF16 ? "f16" : t == CubeType::kBF16 ? "bf16" : t == CubeType::kF32 ? "f32" : "hf32";
}

/// Bytes of an element in memory and in every buffer.
constexpr std::int64_t byteSize(CubeType t) { return t == CubeType::kF16 || t == CubeType::kBF16 ? 2 : 4; }

/// Channels of a block of the layouts NDC1HWC0 and FRACTAL_Z_3D: 32 bytes of them.
constexpr std::int64_t c0Of(CubeType t) { return 32 / byteSize(t); }

}  // namespace cubejit
