// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how candidates are timed in turn: how often a sample repeats a short run, in which order, and that tuners of one machine wait for
// each other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/tuning/lab.h"

namespace cubejit {

struct TimedRun {
  std::function<Result<std::int64_t>()> run;  ///< how long it took, in nanoseconds
  std::int64_t* leastNs;                      ///< of all runs so far
};

/// `rounds` samples of each. `turnFile` is locked meanwhile; empty: nobody waits.
LabReply timeInTurn(const std::vector<TimedRun>& runs, int rounds, const std::string& turnFile);

/// A candidate that could not be made or run: refused, or for want of memory failed.
LabReply refusalOf(const Error& error);

}  // namespace cubejit
