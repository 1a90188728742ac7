// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow TilingPlan -> TileProgram: one gradient's plan becomes buffers, kernels, lists and loop nests.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"

namespace cubejit {

/// Lowers a legal plan (checkPlan is empty) of a legal problem. Pure and deterministic.
Result<TileProgram> lower(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
