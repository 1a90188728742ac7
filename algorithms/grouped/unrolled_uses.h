// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how long a row of pixels a dW kernel of small groups spells out; the lowering does it, the planner costs it.
#pragma once

#include <cstdint>

namespace cubejit {

/// A row of at most this many multiply-accumulates is unrolled whole (about 6 KiB of code a section): the loops that would walk it
/// are short, and mispredicted at both edges of every row (56 pixels of 3x3 taps: 187 us, unrolled 131).
constexpr std::int64_t kUnrolledUses = 640;

}  // namespace cubejit
