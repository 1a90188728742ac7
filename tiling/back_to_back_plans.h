// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether gradients of one call gain by reading dy a block at a time, one after the other while it is in a core's cache,
// and which plans have tasks of such blocks. Leaves the order of tasks to runtime/back_to_back.h.
#pragma once

#include <cstdint>

#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// Bytes of dy that all gradients read before the next block; 0 if dy is so small that it stays in a shared cache anyway, or has too
/// few blocks to go round.
std::int64_t dyBlockBytes(const Problem& problem, const Machine& machine);

/// The plan, its tasks summing over blocks of dy where that costs less than reading dy again. Precondition: `plan` is legal.
TilingPlan planInBlocks(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                        std::int64_t blockBytes);

}  // namespace cubejit
