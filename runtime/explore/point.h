// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is told of one machine of an exploration.
#pragma once

#include <vector>

#include "cubejit/host_isa.h"
#include "cubejit/problem.h"
#include "runtime/explore/energy.h"
#include "runtime/explore/grid.h"
#include "runtime/text/json_value.h"

namespace cubejit {

/// What is asked of every machine.
struct ExploreQuestion {
  std::vector<Problem> problems;  ///< named
  std::vector<Pass> passes;       ///< dx and dw
  EnergyFigures figures;
  HostIsa isa;  ///< programs are lowered for it; nothing that is counted depends on it
};

/// The machine as JSON, what differs, and the sums over all passes: `cycles` and `us` as `plan --soc` predicts them, `energy_pj`,
/// `memory_bytes`, `bytes` over each path as an emulated run counts them, `on_chip_bytes` of the machine; `passes` has the same and
/// the plan of each. Where a pass has no plan there is an `error` in its place, and `failed` counts them. Thread-safe.
/// Errors: kLimitExceeded without memory, which is no property of a point.
Result<Json> pointToJson(const GridPoint& point, const ExploreQuestion& question);

/// Whether JSON from outside has what pointToJson() tells, as what it is: numbers, lists, names. Not whether it is true.
bool isExploredPoint(const Json& json);

/// The points without `failed` that no other is as good as in both and better in one. Ascending in x.
std::vector<std::size_t> paretoFront(const std::vector<Json>& points, const char* x, const char* y);

}  // namespace cubejit
