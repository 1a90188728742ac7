// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of small groups are legal, of either gradient.
#include <algorithm>

#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/shape.h"
#include "algorithms/kit/chunk_partition.h"
#include "algorithms/kit/memory_hints.h"
#include "algorithms/kit/reorder.h"

namespace cubejit {
namespace {

// Group cells use channels-last and blocked tensors in place and have panels of all others: groups must lie side by side.
void shapeRules(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  const auto check = [&](const char* field, bool given, CellPanel panel) {
    rules.require(given ? panel != CellPanel::kNever : panel != CellPanel::kMust, [&] {
      return std::string(field) +
             (given ? " must be false: what it would copy is channels-last or blocked, and used where it lies"
                    : " must be true: what it copies is neither channels-last nor blocked, of "
                      "f32 or 16 bits");
    });
  };
  const CellsShape shape = cellsShape(p, plan.gradient, m.isa.lanes(), plan.dotProducts);
  const CellPanels panels = cellPanels(shape, plan.gradient, m, plan.dotProducts);
  const ConvView& v = shape.view;
  check("panel_a", plan.panelA, panels.a);
  if (plan.gradient == Gradient::kDx) {
    check("panel_c", plan.panelC, panels.c);
    rules.require(shape.result.c0 == 0 || !roundsByIntegers(shape.result.dtype, m.isa),
                  "stage_result must be true: dx is blocked, and of bf16 that no instruction rounds");
    rules.require(shape.clearsLastBlock(), [&] {
      return "stage_result must be true: the last block of dx has " +
             std::to_string(v.groups * shape.result.channels % shape.result.c0) + " of " +
             std::to_string(shape.result.c0) + " channels, and no vector reaches its end";
    });
  }
  if (plan.gradient == Gradient::kDw) check("panel_b", plan.panelB, panels.b);
  rules.require(plan.baseVectors == 1 || shape.spacesEvenly(),
                "base_vectors must be 1: vectors that share a block of channels are not as far apart as others");
  const std::int64_t channels = shape.perBlock * plan.baseVectors;
  for (const TensorView* t : {&v.big, &v.small}) {
    const std::int64_t rows = plan.gradient == Gradient::kDx ? plan.baseH * v.stride.h + v.kernel.h * v.dilation.h
                                                             : (plan.baseTapsH - 1) * v.dilation.h + 1;
    const std::int64_t columns =
        (plan.gradient == Gradient::kDx ? plan.baseW : plan.unroll) * v.stride.w + plan.baseTapsW * v.dilation.w;
    requireReach(rules, "a base block",
                 t->channelOffset(channels * t->channels) + std::min(rows, t->extent.h) * t->hStride +
                     std::min(columns, t->extent.w) * t->wStride);
  }
}

}  // namespace

void groupedRules(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
  requireDotProducts(rules, core, plan, machine, plan.gradient == Gradient::kDx && wholePairs(core));
  requireNoHints(rules, plan);
  rules.require(!plan.firstTouch, "first_touch must be false: only dw with lanes = channels or swapped has it");
  if (plan.gradient == Gradient::kDw) requireChunks(rules, core, plan);
  shapeRules(core, plan, machine, rules);
}

}  // namespace cubejit
