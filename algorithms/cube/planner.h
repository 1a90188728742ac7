// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plan of a pass for an NPU: candidates, rules, cost, the cheapest. Nothing is repaired.
#pragma once

#include <string>
#include <vector>

#include "algorithms/cube/candidates.h"
#include "algorithms/cube/cost.h"
#include "cubejit/result.h"

namespace cubejit {

struct CubeCandidate {
  TilingPlan plan;
  CubeCost cost;
};

struct CubeChoice {
  TilingPlan plan;
  CubeCost cost;
  std::int64_t legal = 0, refused = 0;
  std::vector<CubeCandidate> best;     ///< the cheapest, best first; filled when asked to explain
  std::vector<std::string> refusedBy;  ///< rules that refused candidates, each once, with the values of the first
};

/// Picks a plan. Preconditions: checkChip found nothing. Pure; takes some milliseconds.
Result<CubeChoice> chooseCubePlan(const CubeWork& work, const Machine& machine, bool explain,
                                  const CubeFixed& fixed = {});

}  // namespace cubejit
