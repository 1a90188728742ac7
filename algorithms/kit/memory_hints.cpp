// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words of these rules.
#include "algorithms/kit/memory_hints.h"

#include "algorithms/kit/reorder.h"

namespace cubejit {

void requireUsualPrefetch(Rules& rules, const TilingPlan& plan, const std::string& why) {
  rules.require(why.empty(),
                [&] { return std::string("prefetch = ") + toString(plan.prefetch) + " must be usual: " + why; });
}

void requireNoHints(Rules& rules, const TilingPlan& plan) {
  if (plan.prefetch == Prefetch::kOperands)
    requireUsualPrefetch(rules, plan, "only dx with lanes = channels that reads dy where it lies asks for operands");
  else if (plan.prefetch != Prefetch::kUsual)
    requireUsualPrefetch(rules, plan, "only contracts that write the gradient in place ask for lines");
  const std::int64_t usual = TilingPlan().prefetchDistance;
  rules.require(plan.prefetchDistance == usual, [&] {
    return "prefetch_distance = " + std::to_string(plan.prefetchDistance) + " must be " + std::to_string(usual) +
           ": only lanes = reduced, and prefetch = operands, ask for operands";
  });
  rules.require(!plan.streamingStore,
                "streaming_store must be false: only contracts of dx that write it in place (lanes = channels, no "
                "panel_c, no stage_result) can");
}

void requireDotProducts(Rules& rules, const Problem& core, const TilingPlan& plan, const Machine& machine,
                        bool allowed) {
  if (!plan.dotProducts) return;
  rules.require(machine.isa.bf16Dot,
                [&] { return std::string("dot_products: ") + toString(machine.isa.level) + " has none of bf16"; });
  rules.require(allowed && dotApplies(core, plan.gradient),
                "dot_products need lanes of channels (dX, an even number of channels a group: or reduced ones, or "
                "group cells) and two operands of bf16");
}

}  // namespace cubejit
