// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/tuning/time_parts.h"

#include <algorithm>

namespace cubejit {

TimeParts partsOf(const RunTimes& before, const RunTimes& after, int threads) {
  TimeParts parts;
  const auto runs = static_cast<double>(std::max<std::int64_t>(1, after.runs.calls - before.runs.calls));
  parts.wall = (after.runs.nanoseconds - before.runs.nanoseconds) / runs;
  parts.all = parts.wall * threads;
  for (std::size_t i = 0; i < after.kernels.size(); ++i) {
    const KernelTime &now = after.kernels[i], &then = before.kernels[i];
    const double ns = std::max(0.0, now.time.nanoseconds - then.time.nanoseconds) / runs;  // ticks are told ever better
    (now.multiplies ? parts.multiplying : parts.moving) += ns;
    const auto calls = static_cast<double>(now.time.calls - then.time.calls) / runs;
    if (calls > 0) parts.kernels.push_back({now.kernel, now.multiplies, calls, ns});
  }
  double phases = 0;
  for (std::size_t i = 0; i < after.phases.size(); ++i)
    phases += (after.phases[i].time.nanoseconds - before.phases[i].time.nanoseconds) / runs;
  parts.walking = std::max(0.0, phases - parts.multiplying - parts.moving);
  parts.waiting = std::max(0.0, parts.all - phases);
  std::stable_sort(parts.kernels.begin(), parts.kernels.end(),
                   [](const TimeParts::Kernel& a, const TimeParts::Kernel& b) { return a.ns > b.ns; });
  return parts;
}

}  // namespace cubejit
