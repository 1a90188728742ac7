// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many sums a core must work at for its multipliers to be busy, and how many sets of them kernels of few sums keep.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/kit/rates.h"

namespace cubejit {

/// Cycles from a multiply-add to the next one of the same sum. Zen 5: twelve dot products in flight reach 93 per cent of what 24 do
/// (runtime/face/peak.cpp), two start in a cycle; FMAs take 4. Zen 4 starts half as many and is taken to have the same latencies.
constexpr double sumLatency(bool dotProducts) { return dotProducts ? 6.0 : kSumLatency; }

/// Sets of `sums` accumulators with which a multiply-add can start whenever there is a place for one; at most 4.
inline std::int64_t setsOfSums(std::int64_t sums, bool dotProducts, const Machine& m) {
  const auto inFlight = static_cast<std::int64_t>(sumLatency(dotProducts) / fmaCycles(m, 1, dotProducts));
  return std::clamp<std::int64_t>((inFlight + sums - 1) / sums, 1, 4);
}

}  // namespace cubejit
