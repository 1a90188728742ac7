// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a program's caller is told where the time of its runs went (Options::timeKernels, Executable::runTimes()).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/problem.h"

namespace cubejit {

struct TimeCount {
  std::int64_t calls = 0;
  double nanoseconds = 0;  ///< of all threads together
};

struct KernelTime {
  Pass pass = Pass::kDx;
  std::string kernel;       ///< as in Executable::kernels()
  bool multiplies = false;  ///< false: it copies, converts, packs or adds
  TimeCount time;
};

struct PhaseTime {
  Pass pass = Pass::kDx;
  std::string phase;  ///< as in Executable::tileProgram()
  TimeCount time;     ///< calls: parts that threads took at a time
};

/// Sums over all runs since the executable was compiled. What phases take beyond their kernels is the walk over loops and
/// addresses; what runs.nanoseconds times the threads is beyond the phases, threads spent waiting: for work, for each other.
struct RunTimes {
  TimeCount runs;  ///< of the calling thread, beginning to end
  std::vector<KernelTime> kernels;
  std::vector<PhaseTime> phases;
};

}  // namespace cubejit
