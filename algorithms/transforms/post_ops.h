// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where post-ops of forward happen: in the kernels that store y last. A pass over programs, for which it does not matter how their
// algorithm makes sums. Microkernels apply them to accumulators; of what leaves through moves, a copy behind each of them does.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// The program of y with the problem's post-ops. Precondition: it stores each element of y at most once, but for zeros before. `wide`: what
/// it calls y are f32 in y's layout, which are finished and rounded behind it; needed where moves store what is rounded already.
Result<TileProgram> addPostOps(TileProgram program, const Problem& problem, bool wide, int lanes);

}  // namespace cubejit
