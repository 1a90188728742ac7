// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which algorithms there are: those of the folders that algorithms/CMakeLists.txt lists, in the order in which they are asked for
// candidates. A build may leave some out (CUBEJIT_ALGORITHMS).
#pragma once

#include "algorithms/algorithm.h"

namespace cubejit {

/// The algorithm whose plans have this type.
template <class Plan>
const Algorithm& algorithm();

#define CUBEJIT_PLAN(Plan) \
  template <>              \
  const Algorithm& algorithm<Plan>();
#include "algorithms/table.def"
#undef CUBEJIT_PLAN

}  // namespace cubejit
