// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when two problems are one to a plan: what is kept for a problem is found however the next caller spells it.
#pragma once

#include "cubejit/problem.h"

namespace cubejit {

/// What a run of the pass sees of a problem, in its shortest spelling: the formats of tensors that it touches, given one by one only where the
/// common type and layout do not say them, and of post-ops those that change what it computes.
Problem seenProblem(const Problem& problem, Pass pass);

/// What the cost model of a chip sees: not its rank or how tensors lie in memory, of types what is multiplied and what dx or y is stored as,
/// and nothing of a dilation between taps that there are not.
Problem modelledProblem(const Problem& problem, Pass pass);

}  // namespace cubejit
