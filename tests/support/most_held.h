// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how much of a core's buffers is in use at the worst time, from the events of that core alone.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cubejit/core_counts.h"

namespace cubejit {

/// What ends when something else begins has ended before.
inline std::array<std::int64_t, kCoreBuffers> mostHeld(const std::vector<TraceEvent>& events) {
  std::array<std::map<double, std::int64_t>, kCoreBuffers> changes;
  for (const TraceEvent& e : events) {
    changes.at(static_cast<std::size_t>(e.buffer))[e.start] += e.held;
    changes.at(static_cast<std::size_t>(e.buffer))[e.until] -= e.held;
  }
  std::array<std::int64_t, kCoreBuffers> most{};
  for (std::size_t b = 0; b < kCoreBuffers; ++b) {
    std::int64_t held = 0;
    for (const auto& [at, change] : changes[b]) most[b] = std::max(most[b], held += change);
  }
  return most;
}

}  // namespace cubejit
