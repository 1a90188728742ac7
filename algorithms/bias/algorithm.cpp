// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a bias gradient reads, and which plans of it are looked at.
#include "algorithms/bias/bias.h"
#include "algorithms/bias/sums.h"
#include "algorithms/kit/candidates.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

// dy of any type, in any layout, but for those of more runs of pixels than loops should step over.
bool biasTakes(const Problem& p, TensorId t) {
  constexpr std::int64_t kMostRuns = 1 << 19, kMostRunsOfViews = 1 << 16;
  if (t != TensorId::kDy) return isCore(p, t);
  const ConvView v = makeConvView(p, Pass::kDb);
  const TensorView& y = v.bigIsX ? v.small : v.big;
  return runBeginnings(y, v.batch).count() <= (formatOf(p, t).strided() ? kMostRunsOfViews : kMostRuns);
}

struct Bias {
  using Plan = BiasPlan;
  static constexpr const char* kPurpose = "db";
  static std::vector<CandidatesOf<Plan>> candidates(const Problem& asked, const Machine& machine) {
    return fewAndAll<Plan>(asked, machine, [&](TensorId t) { return biasTakes(asked, t); }, biasCandidates);
  }
  static bool takes(const Problem& p, const Plan&, TensorId t) { return biasTakes(p, t); }
  static constexpr auto rules = biasRules;
  static constexpr auto cost = biasCost;
  static constexpr auto lower = lowerBias;
};

}  // namespace

template <>
const Algorithm& algorithm<Bias::Plan>() {
  static const Algorithm kAlgorithm = makeAlgorithm<Bias>();
  return kAlgorithm;
}

}  // namespace cubejit
