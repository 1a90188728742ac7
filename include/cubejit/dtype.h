// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which element types exist and how many bytes each takes in memory.
#pragma once

#include <cstdint>

namespace cubejit {

/// Element type of a tensor. Only f32 is generated today; types are values so that more can follow.
enum class DType : std::uint8_t { kF32 };

constexpr std::int64_t byteSize(DType) { return 4; }
constexpr const char* toString(DType) { return "f32"; }

}  // namespace cubejit
