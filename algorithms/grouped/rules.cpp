// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of small groups are legal, of either gradient.
#include <algorithm>

#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/shape.h"
#include "algorithms/kit/dot_products.h"
#include "algorithms/kit/reduction_partition.h"
#include "algorithms/kit/reorder.h"

namespace cubejit {
namespace {

// Channels-last and blocked tensors are used in place and all others have panels: groups must lie side by side.
void panelRule(const char* field, bool given, GroupPanel panel, Rules& rules) {
  rules.require(given ? panel != GroupPanel::kNever : panel != GroupPanel::kMust, [&] {
    return std::string(field) +
           (given ? " must be false: what it would copy is channels-last or blocked, and used where it lies"
                  : " must be true: what it copies is neither channels-last nor blocked, of f32 or 16 bits");
  });
}

// Sums of a register block of `each` results a vector of groups.
void registerRules(const GroupedShape& s, std::int64_t each, std::int64_t registerVectors, bool wide, const Machine& m,
                   const char* sums, Rules& rules) {
  rules.require(s.perBlock > 0, [&] { return noGroupFits(m.isa.lanes(), s.vectorChannels, s.permutedChannels); });
  if (s.perBlock == 0) return;
  const std::int64_t lanes = m.isa.lanes(), whole = s.perBlock * registerVectors;
  for (const std::int64_t groups : {whole, s.view.groups % whole}) {  // and of the last block
    const std::int64_t vectors = divUp(groups, s.perBlock), most = std::min(groups, s.perBlock);
    MicrokernelRegisters k;
    k.accumulators = each * vectors;
    k.vectorsB = k.accumulators;  // more than a few come one by one
    k.vectorsA = true;
    k.permutesA = s.permuted && (most > 1 || !wide);
    k.permutesTwo = k.permutesA && most * s.permutedChannels > lanes;
    k.masks = groups % s.perBlock != 0 || most * s.vectorChannels != lanes || most * s.permutedChannels % lanes != 0;
    requireRegisters(rules, k, m.isa, sums);
  }
}

// What a register block reaches of the tensors.
struct Reach {
  std::int64_t vectors, rows, columns;
};

void shapeRules(const GroupedShape& s, const Reach& reach, Rules& rules) {
  rules.require(reach.vectors == 1 || s.spacesEvenly(),
                "register_vectors must be 1: vectors that share a block of channels are not as far apart as others");
  for (const TensorView* t : {&s.view.big, &s.view.small}) {
    requireReach(rules, "a register block",
                 t->channelOffset(s.perBlock * reach.vectors * t->channels) +
                     std::min(reach.rows, t->extent.h) * t->hStride +
                     std::min(reach.columns, t->extent.w) * t->wStride);
  }
}

}  // namespace

void groupedRules(const Problem& core, const GroupedDataPlan& plan, const Machine& m, Rules& rules) {
  requireDotProducts(rules, core, Pass::kDx, m, plan.dotProducts, wholePairs(core));
  const GroupedShape s = groupedShape(core, Pass::kDx, m.isa.lanes(), plan.dotProducts);
  const GroupPanels panels = groupPanels(s, Pass::kDx, m, plan.dotProducts);
  const ConvView& v = s.view;
  panelRule("pack_a", plan.packA, panels.a, rules);
  const std::int64_t along = v.oneAxis ? s.result.extent.w : s.result.extent.h;
  requireFewBlocks(rules, "cache_h", along, plan.cache.h, "raise cache_h");
  requireFewBlocks(rules, "cache_h", std::min(plan.cache.h, along), v.oneAxis ? plan.registerW : plan.registerH,
                   "lower cache_h");
  registerRules(s, plan.registerH * plan.registerW, plan.registerVectors,
                plan.packA || plan.dotProducts || s.operand.dtype == DType::kF32, m,
                "register_h x register_w x register_vectors", rules);
  rules.require(s.result.c0 == 0 || !roundsByIntegers(s.result.dtype, m.isa),
                "reorder_result must be true: dx is blocked, and of bf16 that no instruction rounds");
  rules.require(s.clearsLastBlock(), [&] {
    return "reorder_result must be true: the last block of dx has " +
           std::to_string(v.groups * s.result.channels % s.result.c0) + " of " + std::to_string(s.result.c0) +
           " channels, and no vector reaches its end";
  });
  shapeRules(s,
             {plan.registerVectors, plan.registerH * v.stride.h + v.kernel.h * v.dilation.h,
              plan.registerW * v.stride.w + plan.registerTaps * v.dilation.w},
             rules);
}

void groupedRules(const Problem& core, const GroupedWeightsPlan& plan, const Machine& m, Rules& rules) {
  requireReductionBlocks(rules, core, plan.reduction);
  const GroupedShape s = groupedShape(core, Pass::kDw, m.isa.lanes(), false);
  const GroupPanels panels = groupPanels(s, Pass::kDw, m, false);
  const ConvView& v = s.view;
  requireShortSums(rules, ReductionPartition(v, plan.reduction).sums(), plan.reductionParts);
  panelRule("pack_a", plan.packA, panels.a, rules);
  panelRule("pack_b", plan.packB, panels.b, rules);
  registerRules(s, plan.registerTapsH * plan.registerTapsW * plan.registerChannels, plan.registerVectors,
                plan.packA || (s.bigIsPermuted ? v.big : v.small).dtype == DType::kF32, m,
                "register_taps_h x register_taps_w x register_channels x register_vectors", rules);
  shapeRules(s,
             {plan.registerVectors, (plan.registerTapsH - 1) * v.dilation.h + 1,
              plan.unroll * v.stride.w + plan.registerTapsW * v.dilation.w},
             rules);
}

}  // namespace cubejit
