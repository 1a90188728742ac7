// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an exploration goes through its points: on threads, each point kept as soon as it ends.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/explore/point.h"
#include "runtime/explore/point_file.h"

namespace cubejit {

struct ExploreRun {
  std::size_t threads = 1;
  std::function<bool()> stop;                                        ///< asked before each point, by any thread
  std::function<void(std::size_t done, const Machine& last)> ended;  ///< one call at a time
};

/// Asks about every machine of `grid` whose place in `points` is null, and puts the answer there. After `stop` said so, or after an error, no further
/// point is asked about; their places stay null.
Status explore(const std::vector<GridPoint>& grid, const ExploreQuestion& question, const ExploreRun& run,
               PointFile& file, std::vector<Json>& points);

}  // namespace cubejit
