// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how long a row of pixels a dW kernel spells out; the lowering does it, the planner costs it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cubejit {

/// Columns of a row that are spelled out for a tile of so many accumulators. Each column's loads go to one more address, whose next
/// one is a row away: on another page, prefetchers do not follow (Zen5, 28 columns of 64 channels, 24 accumulators: 13 columns 1.1 to
/// 1.3 times as fast as 26; other rows within 3 %).
constexpr std::int64_t unrolledColumns(std::int64_t accumulators) {
  return std::clamp<std::int64_t>(320 / std::max<std::int64_t>(1, accumulators), 4, 32);
}

}  // namespace cubejit
