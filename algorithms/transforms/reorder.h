// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a lowered core problem becomes the program of the whole one: conversions of staged operands before it, of a staged
// result behind it.
#pragma once

#include "algorithms/kit/result_ops.h"
#include "codegen/tile/program.h"
#include "cubejit/plan.h"

namespace cubejit {

/// `core` is the program of coreProblem(problem, plan). `ops`: what is done with a result that is staged.
TileProgram addStaging(TileProgram core, const Problem& problem, const TilingPlan& plan, int lanes,
                       const ResultOps& ops);

}  // namespace cubejit
