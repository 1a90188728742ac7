// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors Winograd's filtering reads and writes.
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

// Transforms read and write it where it lies.
bool takesInPlace(const Problem& p, TensorId t) {
  if (!isCore(p, t) || isWeights(t)) return isCore(p, t);
  const TensorFormat f = formatOf(p, t);
  const bool last = f.strided() ? conv_view_detail::gapsOf(p, t).channelsLast : f.layout == Layout::kNdhwc;
  return last && f.dtype == DType::kF32;
}

// There, or in a panel of the rows that tiles have. Blocks are reordered, and so is what has gaps in pixels and in channels; pixels of dx that
// agree modulo a stride are no neighbours, and a single axis has no rows.
bool takesRows(const Problem& p, TensorId t) {
  if (!isCore(p, t) || isWeights(t)) return isCore(p, t);
  if (takesInPlace(p, t)) return true;
  if (conv_view_detail::hasOneAxis(p) || (t == TensorId::kDx && !p.transposed && p.stride.w > 1)) return false;
  const TensorFormat f = formatOf(p, t);
  return f.strided() ? !conv_view_detail::gapsOf(p, t).apart : f.layout != Layout::kNdc1hwc0;
}

// Plans of whole reorders, and of panels of rows where they spare any.
template <class Plan, class Candidates>
std::vector<CandidatesOf<Plan>> withAndWithoutPanels(const Problem& asked, const Candidates& candidates) {
  if (asked.math == MathMode::kStrict) return {};
  std::vector<CandidatesOf<Plan>> out;
  for (const auto takes : {takesInPlace, takesRows}) {
    const Reorders reorders = reordersFor(Plan::kPass, [&](TensorId t) { return takes(asked, t); });
    if (!out.empty() && out.front().reorders == reorders) continue;
    out.push_back({reorders, candidates(coreProblem(asked, Plan::kPass, reorders))});
  }
  return out;
}

struct WinogradData {
  using Plan = WinogradDataPlan;
  static constexpr const char* kPurpose = "kernels of 2 to 7 taps and smaller strides, if math may be relaxed";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return withAndWithoutPanels<Plan>(asked,
                                      [&](const Problem& core) { return winogradDataCandidates(core, machine); });
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return takesRows(p, t); }
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
  static constexpr const char* kPurpose = "kernels of 2 to 7 taps and smaller strides, if math may be relaxed";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return withAndWithoutPanels<Plan>(asked,
                                      [&](const Problem& core) { return winogradWeightCandidates(core, machine); });
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return takesRows(p, t); }
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
