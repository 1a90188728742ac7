// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which algorithms there are: one line each, in the order in which they are asked for candidates. A build may leave some out
// (CUBEJIT_ALGORITHMS).
#pragma once

#include "algorithms/algorithm.h"

namespace cubejit {

#define CUBEJIT_ALGORITHM(room) extern const Algorithm room;
#include "algorithms/table.def"
#undef CUBEJIT_ALGORITHM

}  // namespace cubejit
