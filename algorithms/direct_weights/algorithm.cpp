// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the direct weight gradient takes, and which plans of it are looked at.
#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/kit/candidates.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

struct DirectWeights {
  using Plan = DirectWeightsPlan;
  static constexpr const char* kPurpose = "most layers";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return fewAndAll<Plan>(asked, machine, [&](TensorId t) { return takes(asked, {}, t); }, directWeightsCandidates);
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return isCore(p, t) || isInWholeBlocks(p, t); }
  static constexpr auto rules = directWeightsRules;
  static constexpr auto cost = directWeightsCost;
  static constexpr auto lower = lowerDirectWeights;
};

}  // namespace

template <>
const Algorithm& algorithm<DirectWeights::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<DirectWeights>();
  return kAlgorithm;
}

}  // namespace cubejit
