// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors small groups are read from, and which plans of them are looked at.
#include "algorithms/grouped/grouped.h"
#include "algorithms/kit/candidates.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

// Activations of any type, plain or channels-last, through panels where need be; blocked ones where they lie, if blocks hold whole
// groups (dx of several channels a group: and the last block is full), but for HF32, whose operands are rounded when they are converted.
bool takesActivation(const Problem& p, TensorId t) {
  if (isPlainOrChannelsLast(p, t)) return true;
  const TensorFormat f = formatOf(p, t);
  const bool activation = isActivation(t);
  if (!activation || f.strided() || f.layout != Layout::kNdc1hwc0 || isHf32(f.dtype)) return false;
  const std::int64_t channels = isOfOutput(t) ? p.cout : p.cin, block = f.blockChannels();
  const bool depthwise = p.cin == p.groups && p.cout == p.groups;
  return channels > 0 && block % (channels / p.groups) == 0 &&
         (t != TensorId::kDx || depthwise || channels % block == 0);
}

bool groupedTakes(const Problem& p, TensorId t) { return isCore(p, t) || takesActivation(p, t); }

// Pairs of weights are packed.
bool takesForPairs(const Problem& p, TensorId t) {
  return groupedTakes(p, t) || (t == TensorId::kW && isInWholeBlocks(p, t));
}

struct GroupedData {
  using Plan = GroupedDataPlan;
  static constexpr const char* kPurpose = "depthwise and small groups";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    const Reorders all = reordersToCore(asked, Pass::kDx),
                   few = reordersFor(Pass::kDx, [&](TensorId t) { return groupedTakes(asked, t); }),
                   ofPairs = reordersFor(Pass::kDx, [&](TensorId t) { return takesForPairs(asked, t); });
    std::vector<CandidatesOf<Plan>> out;
    if (few != all) out.push_back({few, groupedDataCandidates(coreProblem(asked, Pass::kDx, few), machine)});
    if (ofPairs != all) out.push_back({ofPairs, groupedDotCandidates(coreProblem(asked, Pass::kDx, ofPairs), machine)});
    out.push_back({all, groupedDataCandidates(coreProblem(asked, Pass::kDx, all), machine)});
    return out;
  }
  static bool takes(const Problem& p, const Plan& plan, TensorId t) {
    return plan.dotProducts ? takesForPairs(p, t) : groupedTakes(p, t);
  }
  static void rules(const Problem& core, const Plan& plan, const Machine& machine, Rules& rules) {
    groupedRules(core, plan, machine, rules);
  }
  static constexpr auto cost = groupedDataCost;
  static constexpr auto lower = lowerGroupedData;
  static std::int64_t pixelRows(const Plan& plan) { return plan.cache.d * plan.cache.h; }
};

struct GroupedWeights {
  using Plan = GroupedWeightsPlan;
  static constexpr const char* kPurpose = "depthwise and small groups";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return fewAndAll<Plan>(
        asked, machine, [&](TensorId t) { return groupedTakes(asked, t); }, groupedWeightsCandidates);
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return groupedTakes(p, t); }
  static void rules(const Problem& core, const Plan& plan, const Machine& machine, Rules& rules) {
    groupedRules(core, plan, machine, rules);
  }
  static constexpr auto cost = groupedWeightsCost;
  static constexpr auto lower = lowerGroupedWeights;
};

}  // namespace

template <>
const Algorithm& algorithm<GroupedData::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<GroupedData>();
  return kAlgorithm;
}

template <>
const Algorithm& algorithm<GroupedWeights::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<GroupedWeights>();
  return kAlgorithm;
}

}  // namespace cubejit
