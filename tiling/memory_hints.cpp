// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules.
#include "tiling/memory_hints.h"

#include "cubejit/conv_view.h"
#include "cubejit/direct_weights.h"
#include "cubejit/index_map.h"
#include "cubejit/result_prefetch.h"
#include "tiling/host_shape.h"

namespace cubejit {
namespace {

constexpr std::int64_t kUsualDistance = TilingPlan().prefetchDistance, kMostDistance = 64;

// Whether contracts write the caller's gradient themselves, not a panel or an accumulator of the task.
bool writesInPlace(const Problem& p, const TilingPlan& plan, const Machine& m) {
  if (plan.lanes != LaneRole::kChannels) return false;
  if (plan.gradient == Gradient::kDx) return !plan.panelC;
  return plan.gradient == Gradient::kDw &&
         storesSumsDirectly(makeConvView(p, Gradient::kDw), plan, formatOf(p, TensorId::kDw).dtype, m.isa);
}

// Why results cannot, or should not, go past the caches; empty = they can.
std::string whyNotStreamed(const Problem& p, const TilingPlan& plan, const Machine& m) {
  if (plan.gradient != Gradient::kDx || !writesInPlace(p, plan, m) || plan.stageResult)
    return "only contracts of dx that write it in place (lanes = channels, no panel_c, no stage_result) can";
  if (formatOf(p, TensorId::kDx).dtype != DType::kF32) return "16-bit results are less than a line of a cache";
  const ConvView v = makeConvView(p, Gradient::kDx);
  const TensorView& result = v.bigIsX ? v.big : v.small;
  const std::int64_t vector = std::int64_t{m.isa.lanes()} * 4;
  for (const std::int64_t stride : {result.nStride, result.dStride, result.hStride, result.wStride}) {
    if (stride % vector != 0)
      return "pixels of dx are " + std::to_string(stride) + " bytes apart, not a multiple of a vector's " +
             std::to_string(vector);
  }
  if (result.bytes <= m.buffers.l1Bytes)
    return "dx has " + std::to_string(result.bytes) + " bytes, which the L2 cache of " +
           std::to_string(m.buffers.l1Bytes) + " keeps";
  return {};
}

// Whether contracts that write in place ask for the lines of results.
bool prefetchesResults(const Problem& p, const TilingPlan& plan, Prefetch prefetch) {
  if (plan.gradient == Gradient::kDw) return prefetchesDwResults(prefetch);
  const ConvView v = makeConvView(p, Gradient::kDx);
  return prefetchesDxResults(prefetch, (v.bigIsX ? v.small : v.big).words(plan.dotProducts) * v.taps());
}

// Empty if the plan's prefetch is another program than the usual one.
std::string whyNoOtherPrefetch(const Problem& p, const TilingPlan& plan, const Machine& m) {
  if (plan.prefetch == Prefetch::kOperands) {
    return plan.gradient == Gradient::kDx && plan.lanes == LaneRole::kChannels && !plan.panelA
               ? ""
               : "only dx with lanes = channels that reads dy where it lies asks for operands";
  }
  if (plan.gradient == Gradient::kDx && plan.lanes == LaneRole::kReduced)
    return plan.prefetch == Prefetch::kNone ? "" : "lanes = reduced asks for operands; say prefetch_distance";
  if (!writesInPlace(p, plan, m)) return "only contracts that write the gradient in place ask for lines";
  return prefetchesResults(p, plan, plan.prefetch) == prefetchesResults(p, plan, Prefetch::kUsual)
             ? "that is what usual means for sums of this length"
             : "";
}

}  // namespace

std::vector<std::string> brokenHints(const Problem& p, const TilingPlan& plan, const Machine& m) {
  std::vector<std::string> broken;
  if (plan.prefetch != Prefetch::kUsual) {
    const std::string why = whyNoOtherPrefetch(p, plan, m);
    if (!why.empty()) broken.push_back(std::string("prefetch = ") + toString(plan.prefetch) + " must be usual: " + why);
  }
  const bool reduced = plan.gradient == Gradient::kDx && plan.lanes == LaneRole::kReduced;
  const bool ahead = (reduced && plan.prefetch != Prefetch::kNone) || plan.prefetch == Prefetch::kOperands;
  if (plan.prefetchDistance != kUsualDistance && !ahead)
    broken.push_back("prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be " +
                     std::to_string(kUsualDistance) +
                     ": only lanes = reduced, and prefetch = operands, ask for operands");
  if (plan.prefetchDistance > kMostDistance)
    broken.push_back("prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be at most " +
                     std::to_string(kMostDistance));
  if (plan.streamingStore) {
    const std::string why = whyNotStreamed(p, plan, m);
    if (!why.empty()) broken.push_back("streaming_store must be false: " + why);
  }
  return broken;
}

// What is left in the caches serves whoever reads the gradient next, so it is given up only where it is little. Computing hides the
// way to memory, not the reads for ownership that it spares: 2 to 10 % on layers of ResNet-50 (measured on Zen4). Results go to memory
// about half as fast as operands come from it (Zen5: 5 bytes a cycle of a core); layers that do little else but store into L3 were 1.3
// to 1.4 times slower. Half a line of a cache waits for the other half.
bool streamingPays(const Problem& p, const TilingPlan& plan, const PlanCost& cost, const Machine& m) {
  constexpr std::int64_t kLineBytes = 64;
  constexpr double kStreamedShare = 0.55;
  if (plan.baseVectors * m.isa.lanes() * 4 % kLineBytes != 0 || !whyNotStreamed(p, plan, m).empty()) return false;
  const ConvView v = makeConvView(p, Gradient::kDx);
  const double l3 = static_cast<double>(m.buffers.l2Bytes),
               result = static_cast<double>(v.bigIsX ? v.big.bytes : v.small.bytes);
  if (result > 0.75 * l3) return true;
  return static_cast<double>(v.big.bytes + v.small.bytes) > kOwnL3 * l3 &&
         cost.computeCycles > std::max(cost.memoryCycles, result / (kStreamedShare * m.rates.dramBytesPerCycle));
}

}  // namespace cubejit
