// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the algorithms of this build are found.
#include "algorithms/table.h"

namespace cubejit {

const std::vector<const Algorithm*>& algorithms() {
  static const std::vector<const Algorithm*> all{
#define CUBEJIT_ALGORITHM(room) &room,
#include "algorithms/table.def"
#undef CUBEJIT_ALGORITHM
  };
  return all;
}

const Algorithm* algorithmOf(const TilingPlan& plan) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->owns(plan)) return algorithm;
  }
  return nullptr;
}

}  // namespace cubejit
