// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides a problem and a plan that tests of the NPU planner start from: small enough to follow by hand.
#pragma once

#include "algorithms/cube/rules.h"
#include "tests/support/layers.h"

namespace cubejit {

/// 3 x 3 convolution of 8 x 16 pixels, 64 channels to 32, f16, padded: dy has the extent of x.
inline Problem handProblem() { return ofType(DType::kF16, problemOf(2, 32, 64, {1, 8, 16}, {1, 3, 3}, {0, 1, 1})); }

/// Tasks of 4 rows and all channels; base blocks of 2 rows.
inline TilingPlan handPlan(const CubeWork& w) {
  TilingPlan plan;
  plan.algorithm = CubePlan{};
  plan.pass = w.pass;
  plan.cube().tile.operand = w.type;
  if (w.pass == Pass::kDx) {
    plan.cube().singleShape = Mkn{4 * 16, 64 * 9, 32};
    plan.cube().tile.base = Mkn{32, 48, 32};
    plan.cube().tile.stepKa = plan.cube().tile.stepKb = 3;  // one block of 16 channels: 144
  } else {
    plan.cube().singleShape = Mkn{64, 4 * 16, 32 * 9};
    plan.cube().tile.base = Mkn{32, 32, 48};
  }
  plan.cube().cores = splitOf(w, plan.cube().singleShape);
  return plan;
}

}  // namespace cubejit
