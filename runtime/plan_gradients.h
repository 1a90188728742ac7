// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plans of gradients that are asked for together: those the caller gives, if they are legal, else the cheapest; and
// whether one conversion of dy serves all of them. Leaves to runtime/interleave.h whether they read dy by turns.
#pragma once

#include <optional>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"

namespace cubejit {

struct GradientPlans {
  Problem problem;  ///< what they are plans of: the caller's, or the same with dy as it is after the conversion
  std::vector<TilingPlan> plans;  ///< in the order dx, dw, db
  bool sharesDy = false;          ///< dy is converted once, for all of them
};

/// `algorithm`: as in Options.
Result<GradientPlans> planGradients(const CompileRequest& request, const Machine& machine,
                                    const std::string& algorithm);

}  // namespace cubejit
