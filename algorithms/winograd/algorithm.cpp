// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors Winograd's filtering reads and writes.
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

bool winogradTakes(const Problem& p, TensorId t) {
  if (!isCore(p, t) || isWeights(t)) return isCore(p, t);
  const TensorFormat f = formatOf(p, t);
  return f.strided() ? conv_view_detail::gapsOf(p, t).channelsLast : f.layout == Layout::kNdhwc;
}

struct WinogradData {
  using Plan = WinogradDataPlan;
  static constexpr const char* kPurpose = "kernels of 2 to 5 taps, stride 1, if math may be relaxed";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    if (asked.math == MathMode::kStrict) return {};
    const Reorders reorders = reordersFor(Plan::kPass, [&](TensorId t) { return winogradTakes(asked, t); });
    return {{reorders, winogradDataCandidates(coreProblem(asked, Plan::kPass, reorders), machine)}};
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return winogradTakes(p, t); }
  static void rules(const Problem& core, const Plan& plan, const Machine& machine, Rules& rules) {
    winogradRules(core, plan, machine, rules);
  }
  static PlanCost cost(const Problem& core, const Plan& plan, const Machine& machine) {
    return winogradCost(core, plan, machine);
  }
  static constexpr auto lower = lowerWinogradData;
  static std::int64_t pixelRows(const Plan& plan) { return plan.cacheRows; }
  static std::vector<std::string> applies(const Problem& core) { return winogradApplies(core, Plan::kPass); }
};

struct WinogradWeights {
  using Plan = WinogradWeightsPlan;
  static constexpr const char* kPurpose = "kernels of 2 to 5 taps, stride 1, if math may be relaxed";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    if (asked.math == MathMode::kStrict) return {};
    const Reorders reorders = reordersFor(Plan::kPass, [&](TensorId t) { return winogradTakes(asked, t); });
    return {{reorders, winogradWeightCandidates(coreProblem(asked, Plan::kPass, reorders), machine)}};
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return winogradTakes(p, t); }
  static void rules(const Problem& core, const Plan& plan, const Machine& machine, Rules& rules) {
    winogradRules(core, plan, machine, rules);
  }
  static PlanCost cost(const Problem& core, const Plan& plan, const Machine& machine) {
    return winogradCost(core, plan, machine);
  }
  static constexpr auto lower = lowerWinogradWeights;
  static std::vector<std::string> applies(const Problem& core) { return winogradApplies(core, Plan::kPass); }
};

}  // namespace

template <>
const Algorithm& algorithm<WinogradData::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<WinogradData>();
  return kAlgorithm;
}

template <>
const Algorithm& algorithm<WinogradWeights::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<WinogradWeights>();
  return kAlgorithm;
}

}  // namespace cubejit
