// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: the two lowerings, one a gradient.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"

namespace cubejit {

Result<TileProgram> lowerDataCells(const Problem& core, const TilingPlan& plan, const Machine& machine);
Result<TileProgram> lowerWeightsCells(const Problem& core, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
