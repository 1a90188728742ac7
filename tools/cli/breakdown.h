// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how `bench --breakdown` tells where the time of a pass's runs went.
#pragma once

#include "runtime/text/json_value.h"
#include "runtime/tuning/time_parts.h"

namespace cubejit::cli {

struct BreakdownOf {
  TimeParts parts;
  int threads = 1;
  double flops = 0, peakGflops = 0;  ///< of the run; of all threads, 0: it does not multiply
};

/// What multiplies (and at which share of the peak while it does), what moves data, what walks loops, what waits.
Json breakdownJson(const BreakdownOf& what);

/// The same as lines for a reader.
void printBreakdown(const BreakdownOf& what);

}  // namespace cubejit::cli
