// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a matrix unit adds, one element at a time, for the interpreters of both IRs.
#pragma once

#include <cstdint>

namespace cubejit {

/// c and the products of `count` pairs of `a`, which follow each other, and of `b`, `pitch` words apart, added as SumOrder::kTwoChains says.
/// `f16`: members are f16, else bf16.
float twoChains(float c, const std::uint32_t* a, const std::uint32_t* b, std::int64_t count, std::int64_t pitch,
                bool f16);

}  // namespace cubejit
