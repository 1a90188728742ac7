// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the direct data gradient takes, and which plans of it are looked at.
#include "algorithms/direct_data/direct_data.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

bool takesOperand(const Problem& p, TensorId t) { return isCore(formatOf(p, t), t) || isDenseInWholeBlocks(p, t); }

// Sums over lanes leave through a panel of f32.
bool takesBeforeSums(const Problem& p, TensorId t) {
  return t == TensorId::kDx ? isCore(formatOf(p, t), t) : takesOperand(p, t);
}

bool takes(const Problem& p, const TilingPlan& plan, TensorId t) {
  return plan.lanes == LaneRole::kReduced ? takesBeforeSums(p, t) : takesOperand(p, t);
}

// What is left as it is if columns become channels: w is moved, and dx too unless it is channels-last.
Reorders foldingReorders(const Problem& p) {
  Reorders reorders = reordersFor(Gradient::kDx, [&](TensorId t) { return takesOperand(p, t); });
  reorders.spaceToDepth = reorders.w = true;
  reorders.result = reorders.result || formatOf(p, TensorId::kDx).layout != Layout::kNdhwc;
  return reorders;
}

std::vector<Candidates> candidates(const Problem& asked, Gradient gradient, const Machine& machine) {
  const Reorders all = reordersToCore(asked, gradient),
                 few = reordersFor(gradient, [&](TensorId t) { return takesOperand(asked, t); }),
                 operands = reordersFor(gradient, [&](TensorId t) { return takesBeforeSums(asked, t); });
  std::vector<Candidates> out;
  if (few != all) out.push_back({few, dataChannelCandidates(coreProblem(asked, gradient, few), machine)});
  if (operands != all)
    out.push_back({operands, dataReducedCandidates(coreProblem(asked, gradient, operands), machine)});
  if (foldable(asked)) {
    const Reorders folding = foldingReorders(asked);
    out.push_back({folding, dataChannelCandidates(coreProblem(asked, gradient, folding), machine)});
  }
  const Problem core = coreProblem(asked, gradient, all);
  out.push_back({all, dataChannelCandidates(core, machine)});
  out.push_back({all, dataReducedCandidates(core, machine)});
  return out;
}

PlanCost cost(const Problem& core, const TilingPlan& plan, const Machine& machine) {
  return plan.lanes == LaneRole::kReduced ? dataReducedCost(core, plan, machine) : dataChannelCost(core, plan, machine);
}

}  // namespace

extern const Algorithm direct_data{
    "direct",
    "most layers",
    {/*dx=*/true, false, false},
    [](const TilingPlan& plan) {
      return plan.gradient == Gradient::kDx && (plan.lanes == LaneRole::kChannels || plan.lanes == LaneRole::kReduced);
    },
    nullptr,
    candidates,
    takes,
    directDataRules,
    cost,
    lowerDataChannels,
    [](const TilingPlan& plan) { return plan.packWeights && !(plan.lanes == LaneRole::kChannels && plan.panelB); },
    streamingPays};

}  // namespace cubejit
