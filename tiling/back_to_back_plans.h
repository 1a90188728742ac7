// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether passes of one call gain by reading dy a block at a time, one after the other while it is in a core's cache,
// and which plans have tasks of such blocks. Leaves the order of tasks to runtime/exec/back_to_back.h.
#pragma once

#include <cstdint>

#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// How dy is cut. No bytes: it is so small that it stays in a shared cache anyway, or has too few blocks to go round.
struct DyBlocks {
  std::int64_t bytes = 0;     ///< what all passes read before the next block: a share of a core's cache
  std::int64_t farthest = 0;  ///< what a task may read: a core's share of the last cache
  std::int64_t fewest = 0;    ///< units of work that keep all cores busy
};
DyBlocks dyBlocks(const Problem& problem, const Machine& machine);

/// The plan, its tasks summing over blocks of dy where that costs less than reading dy again. Precondition: `plan` is legal.
TilingPlan planInBlocks(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                        std::int64_t blockBytes);

}  // namespace cubejit
