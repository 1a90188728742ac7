// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the time of runs is divided into.
#pragma once

#include <string>
#include <vector>

#include "cubejit/run_times.h"

namespace cubejit {

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

}  // namespace cubejit
