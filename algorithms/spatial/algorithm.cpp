// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the spatial algorithm takes, and which plans of it are looked at.
#include "algorithms/kit/reorder.h"
#include "algorithms/spatial/spatial.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

// HF32 operands are rounded when they are converted.
bool takes(const Problem& p, const TilingPlan&, TensorId t) {
  return isCore(formatOf(p, t), t) || (isPlainOrChannelsLast(p, t) && !isHf32(formatOf(p, t).dtype));
}

std::vector<TilingPlan> candidatesOf(const Problem& core, Gradient gradient, const Machine& machine) {
  return gradient == Gradient::kDx ? dataPixelCandidates(core, machine) : weightPixelCandidates(core, machine);
}

std::vector<Candidates> candidates(const Problem& asked, Gradient gradient, const Machine& machine) {
  const Reorders all = reordersToCore(asked, gradient),
                 few = reordersFor(gradient, [&](TensorId t) { return takes(asked, {}, t); });
  std::vector<Candidates> out;
  if (few != all) out.push_back({few, candidatesOf(coreProblem(asked, gradient, few), gradient, machine)});
  out.push_back({all, candidatesOf(coreProblem(asked, gradient, all), gradient, machine)});
  return out;
}

PlanCost cost(const Problem& core, const TilingPlan& plan, const Machine& machine) {
  return plan.gradient == Gradient::kDx ? dataPixelCost(core, plan, machine) : weightPixelCost(core, plan, machine);
}

}  // namespace

extern const Algorithm spatial{
    "spatial",
    "dX of few result channels, dW of few pairs of channels a group out of plain tensors",
    {/*dx=*/true, /*dw=*/true, false},
    [](const TilingPlan& plan) { return plan.gradient != Gradient::kDb && plan.lanes == LaneRole::kPixels; },
    nullptr,
    candidates,
    takes,
    spatialRules,
    cost,
    lowerSpatial,
    nullptr,
    nullptr};

}  // namespace cubejit
