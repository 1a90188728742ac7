// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the direct data gradient takes, and which plans of it are looked at.
#include "algorithms/direct_data/direct_data.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

bool takesOperand(const Problem& p, TensorId t) { return isCore(p, t) || isInWholeBlocks(p, t); }

// Sums over lanes leave through a panel of f32.
bool takesBeforeSums(const Problem& p, TensorId t) { return t == TensorId::kDx ? isCore(p, t) : takesOperand(p, t); }

// What is left as it is if columns become channels: w is moved, and the tensor of the columns unless it is channels-last.
Reorders foldingReorders(const Problem& p) {
  Reorders reorders = reordersFor(Pass::kDx, [&](TensorId t) { return takesOperand(p, t); });
  reorders.spaceToDepth = true;
  reorders.w = !weightsFoldInPlace(p);
  if (!foldsInPlace(p)) setReordered(reorders, foldedTensor(p));
  return reorders;
}

struct DirectData {
  using Plan = DirectDataPlan;
  static constexpr const char* kPurpose = "most layers";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    const Reorders all = reordersToCore(asked, Pass::kDx),
                   few = reordersFor(Pass::kDx, [&](TensorId t) { return takesOperand(asked, t); }),
                   operands = reordersFor(Pass::kDx, [&](TensorId t) { return takesBeforeSums(asked, t); });
    std::vector<CandidatesOf<Plan>> out;
    if (few != all) out.push_back({few, directDataCandidates(coreProblem(asked, Pass::kDx, few), machine)});
    if (operands != all)
      out.push_back({operands, inputChannelCandidates(coreProblem(asked, Pass::kDx, operands), machine)});
    if (foldable(asked)) {
      const Reorders folding = foldingReorders(asked);
      out.push_back({folding, directDataCandidates(coreProblem(asked, Pass::kDx, folding), machine)});
    }
    const Problem core = coreProblem(asked, Pass::kDx, all);
    out.push_back({all, directDataCandidates(core, machine)});
    out.push_back({all, inputChannelCandidates(core, machine)});
    return out;
  }
  static bool takes(const Problem& p, const Plan& plan, TensorId t) {
    return plan.vectorize == DataVectors::kInputChannels ? takesBeforeSums(p, t) : takesOperand(p, t);
  }
  static constexpr auto rules = directDataRules;
  static PlanCost cost(const Problem& core, const Plan& plan, const Machine& machine) {
    return plan.vectorize == DataVectors::kInputChannels ? inputChannelCost(core, plan, machine)
                                                         : directDataCost(core, plan, machine);
  }
  static constexpr auto lower = lowerDirectData;
  static std::int64_t pixelRows(const Plan& plan) { return plan.cache.d * plan.cache.h; }
  static bool packsBeforehand(const Plan& plan) { return plan.packB == PackWeights::kBeforehand; }
  static void settle(const Problem& core, Plan& plan, const Reorders& reorders, const PlanCost& cost,
                     const Machine& machine) {
    plan.streamingStore = streamingPays(core, plan, reorders, cost, machine);
  }
};

}  // namespace

template <>
const Algorithm& algorithm<DirectData::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<DirectData>();
  return kAlgorithm;
}

}  // namespace cubejit
