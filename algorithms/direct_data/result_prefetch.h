// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `prefetch = usual` means for the lines that results go to; rules and lowering agree on it.
#pragma once

#include <cstdint>

#include "cubejit/plan.h"

namespace cubejit {

/// Products a result sums up from which asking for its line early pays (Zen4: a line takes some 300 cycles to come).
constexpr std::int64_t kLongSum = 32;

/// Whether kernels that write dX in place prefetch results; `sum`: products (or pairs of them) of a result.
constexpr bool prefetchesDxResults(Prefetch prefetch, std::int64_t sum) {
  const bool usual = prefetch == Prefetch::kUsual || prefetch == Prefetch::kOperands;
  return usual ? sum >= kLongSum : prefetch == Prefetch::kResults;
}

}  // namespace cubejit
