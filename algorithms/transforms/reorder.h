// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a lowered core problem becomes the program of the whole one: conversions of staged operands before it, of a staged
// result behind it.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/plan.h"

namespace cubejit {

/// `core` is the program of coreProblem(problem, plan).
TileProgram addStaging(TileProgram core, const Problem& problem, const TilingPlan& plan, int lanes);

}  // namespace cubejit
