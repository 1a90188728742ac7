// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors Winograd's filtering reads and writes.
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

bool takes(const Problem& p, const TilingPlan&, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  const bool weights = t == TensorId::kW || t == TensorId::kDw;
  return isCore(f, t) && (weights || f.layout == Layout::kNdhwc);
}

std::vector<Candidates> candidates(const Problem& asked, Gradient gradient, const Machine& machine) {
  if (asked.math != MathMode::kRelaxed) return {};
  const Reorders reorders = reordersFor(gradient, [&](TensorId t) { return takes(asked, {}, t); });
  return {{reorders, winogradCandidates(coreProblem(asked, gradient, reorders), gradient, machine)}};
}

}  // namespace

extern const Algorithm winograd{
    "winograd",
    "kernels of 2 to 5 taps, stride 1, if math may be relaxed",
    {/*dx=*/true, /*dw=*/true, false},
    [](const TilingPlan& plan) { return plan.gradient != Gradient::kDb && plan.lanes == LaneRole::kWinograd; },
    winogradApplies,
    candidates,
    takes,
    winogradRules,
    winogradCost,
    lowerWinograd,
    nullptr,
    nullptr};

}  // namespace cubejit
