// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how `bench --breakdown` tells where the time of a pass's runs went.
#pragma once

#include <string>
#include <vector>

#include "cubejit/run_times.h"
#include "runtime/text/json_value.h"

namespace cubejit::cli {

/// Times of one run, in nanoseconds of all threads unless said otherwise.
struct TimeParts {
  struct Kernel {
    std::string name;
    bool multiplies;
    double calls, ns;
  };
  std::vector<Kernel> kernels;  ///< that were called; the longest first
  double wall = 0;              ///< nanoseconds of the run
  double all = 0;               ///< of all threads; the sum of the next four
  double multiplying = 0, moving = 0, walking = 0, waiting = 0;
};

/// The mean run of those between two times, on so many threads.
TimeParts partsOf(const RunTimes& before, const RunTimes& after, int threads);

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
