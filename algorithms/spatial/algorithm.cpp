// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the spatial algorithm takes, and which plans of it are looked at.
#include "algorithms/kit/candidates.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/spatial/spatial.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

// HF32 operands are rounded when they are converted.
bool spatialTakes(const Problem& p, TensorId t) {
  return isCore(p, t) || (isPlainOrChannelsLast(p, t) && !isHf32(formatOf(p, t).dtype));
}

struct SpatialData {
  using Plan = SpatialDataPlan;
  static constexpr const char* kPurpose = "few channels of dx, and plain tensors of small groups";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return fewAndAll<Plan>(asked, machine, [&](TensorId t) { return spatialTakes(asked, t); }, spatialDataCandidates);
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return spatialTakes(p, t); }
  static void rules(const Problem& core, const Plan& plan, const Machine& machine, Rules& rules) {
    spatialRules(core, plan, machine, rules);
  }
  static constexpr auto cost = spatialDataCost;
  static constexpr auto lower = lowerSpatialData;
  static std::int64_t pixelRows(const Plan& plan) { return plan.cache.d * plan.cache.h; }
};

struct SpatialWeights {
  using Plan = SpatialWeightsPlan;
  static constexpr const char* kPurpose = "few pairs of channels a group out of plain tensors";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return fewAndAll<Plan>(
        asked, machine, [&](TensorId t) { return spatialTakes(asked, t); }, spatialWeightsCandidates);
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return spatialTakes(p, t); }
  static void rules(const Problem& core, const Plan& plan, const Machine& machine, Rules& rules) {
    spatialRules(core, plan, machine, rules);
  }
  static constexpr auto cost = spatialWeightsCost;
  static constexpr auto lower = lowerSpatialWeights;
};

}  // namespace

template <>
const Algorithm& algorithm<SpatialData::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<SpatialData>();
  return kAlgorithm;
}

template <>
const Algorithm& algorithm<SpatialWeights::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<SpatialWeights>();
  return kAlgorithm;
}

}  // namespace cubejit
