// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the direct weight gradient takes, and which plans of it are looked at.
#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

bool takes(const Problem& p, const TilingPlan&, TensorId t) {
  return isCore(formatOf(p, t), t) || isDenseInWholeBlocks(p, t);
}

std::vector<Candidates> candidates(const Problem& asked, Gradient gradient, const Machine& machine) {
  const Reorders all = reordersToCore(asked, gradient),
                 few = reordersFor(gradient, [&](TensorId t) { return takes(asked, {}, t); });
  std::vector<Candidates> out;
  if (few != all) out.push_back({few, weightCandidates(coreProblem(asked, gradient, few), machine)});
  out.push_back({all, weightCandidates(coreProblem(asked, gradient, all), machine)});
  return out;
}

}  // namespace

extern const Algorithm direct_weights{
    "direct",
    "most layers",
    {false, /*dw=*/true, false},
    [](const TilingPlan& plan) {
      return plan.gradient == Gradient::kDw &&
             (plan.lanes == LaneRole::kChannels || plan.lanes == LaneRole::kSwapped || plan.lanes == LaneRole::kTaps);
    },
    nullptr,
    candidates,
    takes,
    directWeightsRules,
    weightCost,
    lowerWeights,
    nullptr,
    nullptr};

}  // namespace cubejit
