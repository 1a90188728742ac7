// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how extents are rounded to whole blocks, fractals and tasks.
#pragma once

#include <cstdint>

namespace cubejit {

/// The smallest whole number that is at least a / b. b >= 1; cannot overflow.
constexpr std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
/// The smallest multiple of b that is at least a.
constexpr std::int64_t roundUp(std::int64_t a, std::int64_t b) { return ceilDiv(a, b) * b; }

}  // namespace cubejit
