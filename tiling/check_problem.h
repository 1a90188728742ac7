// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which problems are legal. All arithmetic is checked 64-bit.
#pragma once

#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// Ok, or kInvalidProblem naming every violated rule with its values and a fix, one per line.
Status checkProblem(const Problem& problem);

/// The problem as its passes see it: how tensors lie that they neither read nor write is not looked at, so strides and formats that are
/// not legal are dense ones.
Problem seenBy(Problem problem, PassMask passes);

}  // namespace cubejit
