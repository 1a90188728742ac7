// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how strategies are compared without hardware: on measurements that were recorded.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "cubejit/machine.h"
#include "runtime/tuning/record.h"
#include "runtime/tuning/strategy.h"

namespace cubejit {

/// Trials after which a strategy is judged.
inline constexpr std::array kReplayMarks{1, 5, 10, 20, 40};
/// Measured plans that make a problem worth replaying.
inline constexpr std::size_t kFewestReplayed = 8;

struct Replays {
  struct Strategy {
    StrategyKind kind;
    std::array<double, kReplayMarks.size()>
        regret{};              ///< how far the best plan found is behind the best recorded: geometric mean less 1
    double trialsToClose = 0;  ///< mean trials until a plan within 2 % of it is found
  };
  std::size_t problems = 0;  ///< that were replayed; 0: none has enough plans, and no strategy is judged
  std::vector<Strategy> strategies;
};

/// Replays every recorded problem with every strategy, five seeds each. `host`: the machine of records that are of no known chip. Throws
/// std::bad_alloc without memory.
Replays replayStrategies(const std::vector<TuneRecord>& records, const Machine& host);

}  // namespace cubejit
