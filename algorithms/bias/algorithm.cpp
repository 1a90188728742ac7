// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a bias gradient reads, and which plans of it are looked at.
#include "algorithms/bias/bias.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

// dy dense, in any layout, of any type but HF32, whose operands are rounded.
bool takes(const Problem& p, const TilingPlan&, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  return isCore(f, t) || (t == TensorId::kDy && !f.strided() && !isHf32(f.dtype));
}

std::vector<Candidates> candidates(const Problem& asked, Gradient gradient, const Machine& machine) {
  const Reorders all = reordersToCore(asked, gradient),
                 few = reordersFor(gradient, [&](TensorId t) { return takes(asked, {}, t); });
  std::vector<Candidates> out;
  if (few != all) out.push_back({few, biasCandidates(coreProblem(asked, gradient, few), machine)});
  out.push_back({all, biasCandidates(coreProblem(asked, gradient, all), machine)});
  return out;
}

}  // namespace

extern const Algorithm bias{"bias",
                            "db",
                            {false, false, /*db=*/true},
                            [](const TilingPlan& plan) { return plan.gradient == Gradient::kDb; },
                            nullptr,
                            candidates,
                            takes,
                            biasRules,
                            biasCost,
                            lowerBias,
                            nullptr,
                            nullptr};

}  // namespace cubejit
