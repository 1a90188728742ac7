// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans are legal for a problem and machine; every rule broken is named with its values and a fix.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cubejit/conv_view.h"
#include "cubejit/npu.h"
#include "cubejit/staging.h"
#include "tiling/cells_shape.h"
#include "tiling/host_shape.h"
#include "tiling/memory_hints.h"
#include "tiling/planner.h"
#include "tiling/winograd_candidates.h"

namespace cubejit {
namespace {

class Rules {
 public:
  // The message is only made when the rule is broken: a search checks thousands of plans.
  template <class Message>
  void require(bool holds, const Message& message) {
    if (holds) return;
    if constexpr (std::is_invocable_v<Message>)
      broken_.push_back(message());
    else
      broken_.push_back(message);
  }
  void positive(const char* field, std::int64_t value) {
    require(value >= 1, [&] { return std::string(field) + " = " + std::to_string(value) + " must be at least 1"; });
  }
  std::vector<std::string> take() { return std::move(broken_); }

 private:
  std::vector<std::string> broken_;
};

std::string pair(const char* what, std::int64_t needed, std::int64_t available, const char* fix) {
  return std::string(what) + ": needs " + std::to_string(needed) + ", there are " + std::to_string(available) + "; " +
         fix;
}

// Offsets inside a tile are 32-bit displacements in code.
void requireReach(Rules& rules, const char* what, std::int64_t bytes) {
  rules.require(bytes >= 0 && bytes <= std::numeric_limits<std::int32_t>::max() / 2, [&] {
    return std::string(what) + " spans " + std::to_string(bytes) +
           " bytes, more than a displacement reaches; make the base block smaller";
  });
}

// Blocks of channels of a blocked tensor are not cut.
void checkBlocks(const TensorView& t, bool cut, std::int64_t each, const char* what, Rules& rules) {
  rules.require(t.c0 == 0 || !cut || each % t.c0 == 0, [&] {
    return std::string(what) + " are cut every " + std::to_string(each) + " channels, but lie in blocks of " +
           std::to_string(t.c0);
  });
}

void checkDataPixels(const ConvView& v, const TilingPlan& plan, const Machine& m, bool rounds, Rules& rules) {
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::int64_t phases = gather ? std::min(v.stride.w, result.extent.w) : 1;
  const std::int64_t needed = phases * plan.baseRows * plan.baseH * plan.baseVectors + plan.baseVectors + 1;
  rules.require(needed <= usableRegisters(m, false) + (m.isa.maskRegs > 0 ? 0 : 1), [&] {
    return pair("vector registers (residue classes x base_rows x base_h x base_vectors + base_vectors + 1)", needed,
                usableRegisters(m, false), "shrink the base block");
  });
  rules.require(plan.panelH % plan.baseH == 0, "panel_h must be a multiple of base_h");
  rules.require(phases <= 64, "pixel lanes need a stride along W of at most 64");
  rules.require(gather || v.stride.w == 1, "pixel lanes of a transposed convolution need stride 1 along W");
  rules.require(!operand.channelsLast || plan.panelB, "panel_b must be true: dy is not plain");
  rules.require(plan.panelC || (!result.channelsLast && phases == 1 && v.stride.w == 1 && !rounds),
                "panel_c must be true: results are channels-last, interleaved, or bf16 that no instruction rounds");
  // The rows that a block of several rows reads are steps of its kernel.
  const std::int64_t rowsRead = plan.baseH > 1 ? plan.baseH * (gather ? 1 : v.stride.h) + v.kernel.h * v.dilation.h : 0;
  const std::int64_t channelBytes = plan.panelB ? (operand.extent.w + 32) * 4 : operand.cStride,
                     rowBytes = plan.panelB ? channelBytes * operand.channels : operand.hStride;
  requireReach(rules, "steps of the reduction", (plan.unroll + 1) * channelBytes + rowsRead * rowBytes);
  if (plan.baseH > 1)
    requireReach(rules, "weights of a step", v.taps() * operand.channels * phases * plan.baseRows * 4);
  if (!plan.panelC) {
    requireReach(rules, "rows of a base block",
                 plan.baseRows * result.cStride + plan.baseH * (gather ? v.stride.h : 1) * result.hStride);
  }
}

void checkData(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  const ConvView v = makeConvView(p, Gradient::kDx);
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::int64_t box = plan.baseBatch * plan.baseD * plan.baseH * plan.baseW;
  // Rounding results takes three registers beside them, unless the ISA has an instruction for it.
  const bool rounds = !plan.panelC && roundsByIntegers(result.dtype, m.isa);
  if (plan.lanes == LaneRole::kPixels) checkDataPixels(v, plan, m, rounds, rules);
  if (plan.lanes == LaneRole::kReduced) {
    const std::int64_t needed = box * result.channels + result.channels + 1;
    rules.require(needed <= usableRegisters(m, true), [&] {
      return pair("vector registers (base pixels x result channels + result channels + 1)", needed,
                  usableRegisters(m, true), "shrink the base block, or use lanes = channels");
    });
    rules.require(plan.panelC && plan.packWeights && !plan.panelB,
                  "lanes = reduced needs panel_c and pack_weights, and no panel_b");
    rules.require(operand.directFor(plan.dotProducts) || plan.panelA,
                  "panel_a must be true: dy is not channels-last of the type that is multiplied, or its pairs of "
                  "channels are not whole");
    rules.require(!result.channelsLast || v.groups == 1,
                  "lanes = reduced writes channels-last results of one group only");
    rules.require(plan.baseBatch == 1, "base_batch must be 1 when panels are used");
    rules.require(plan.baseTapsW == 1, "base_taps_w must be 1: lanes = reduced has no scalars to share");
    rules.require(plan.panelH % (v.line ? plan.baseW : plan.baseH) == 0,
                  "panel_h must be a multiple of the base block's rows");
    rules.require(plan.panelD % plan.baseD == 0, "panel_d must be a multiple of base_d");
    if (!plan.panelA) {
      requireReach(rules, "a base block of the operand",
                   (plan.baseD + plan.baseH) * operand.dStride + plan.baseW * operand.wStride);
    }
  }
  if (plan.lanes == LaneRole::kChannels) {
    const std::int64_t operands = plan.baseTapsW * plan.baseVectors, taps = std::min(plan.baseTapsW, v.kernel.w);
    const std::int64_t needed = box * plan.baseVectors + std::max<std::int64_t>(operands + 1, rounds ? 3 : 0);
    rules.require(needed <= usableRegisters(m, false) + (m.isa.maskRegs > 0 ? 0 : 1), [&] {
      return pair("vector registers (base pixels x base_vectors + base_taps_w x base_vectors + 1)", needed,
                  usableRegisters(m, false), "shrink the base block");
    });
    const Dhw step = gather ? v.stride : Dhw{1, 1, 1}, read = gather ? Dhw{1, 1, 1} : v.stride;
    if (!plan.panelC) {
      requireReach(
          rules, "a base block of the result",
          (plan.baseBatch - 1) * result.nStride + (plan.baseD - 1) * step.d * result.dStride +
              (plan.baseH - 1) * step.h * result.hStride + (plan.baseW - 1) * step.w * result.wStride +
              std::max(plan.baseVectors * m.isa.lanes() * 4, result.channelOffset(plan.baseVectors * m.isa.lanes())));
    }
    if (!plan.panelA) {
      requireReach(rules, "a base block of the operand",
                   (plan.baseBatch - 1) * operand.nStride + (plan.baseD - 1) * read.d * operand.dStride +
                       (plan.baseH - 1) * read.h * operand.hStride +
                       (plan.baseW * read.w + (taps - 1) * v.dilation.w) * operand.wStride);
    }
    if (taps > 1)
      requireReach(rules, "weights of a step", taps * operand.channels * plan.baseVectors * m.isa.lanes() * 4);
    rules.require(plan.baseTapsW <= v.kernel.w, [&] {
      return "base_taps_w = " + std::to_string(plan.baseTapsW) + " is more than the " + std::to_string(v.kernel.w) +
             " taps along W";
    });
    rules.require(plan.packWeights || (v.taps() == 1 && gather),
                  "pack_weights = false needs a 1x1 kernel of an ordinary convolution");
    rules.require(
        result.resultsInPlace(m.isa.lanes(), plan.baseVectors * m.isa.lanes()) || plan.panelC,
        "panel_c must be true: results are neither channels-last nor in full blocks of whole vectors that tiles do not "
        "straddle");
    rules.require(operand.sumsInPlace(plan.dotProducts, plan.unroll) || plan.panelA,
                  "panel_a must be true: dy is not channels-last, or in blocks of channels that unroll divides, of the "
                  "type that is multiplied, or its pairs of channels are not whole");
    checkBlocks(result, plan.panelB && plan.panelC, plan.baseVectors * m.isa.lanes(), "results", rules);
    rules.require(plan.packWeights || formatOf(p, TensorId::kW).dtype == DType::kF32,
                  "pack_weights must be true: w is not f32");
    rules.require(!plan.panelB || plan.packWeights, "panel_b needs pack_weights: it is the panel they are packed into");
    rules.require(plan.baseBatch == 1 || (!plan.panelA && !plan.panelC), "base_batch must be 1 when panels are used");
    rules.require(plan.panelH % (v.line ? plan.baseW : plan.baseH) == 0,
                  "panel_h must be a multiple of the base block's rows");
    rules.require(plan.panelD % plan.baseD == 0, "panel_d must be a multiple of base_d");
  }
}

// Group cells use channels-last and blocked tensors in place and have panels of all others: groups must lie side by side.
void checkCells(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
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

// A chunk is a run of whole rows, planes or images (of a line: pixels), and none of them is summed twice.
void checkChunk(const Problem& p, const TilingPlan& plan, Rules& rules) {
  const ConvView v = makeConvView(p, plan.gradient);
  const Dhw& e = v.small.extent;
  const auto atMost = [&](const char* field, std::int64_t value, std::int64_t most) {
    rules.require(value <= std::max<std::int64_t>(1, most), [&] {
      return std::string(field) + " = " + std::to_string(value) + " is more than the " + std::to_string(most) +
             " there are";
    });
  };
  atMost("panel_h", plan.panelH, v.line ? e.w : e.h);
  atMost("panel_d", plan.panelD, v.line ? 1 : e.d);
  atMost("base_batch", plan.baseBatch, v.batch);
  rules.require(plan.panelD == 1 || plan.panelH >= e.h, "panel_d of more than 1 needs whole planes: raise panel_h");
  const bool whole = v.line ? plan.panelH >= e.w : plan.panelH >= e.h && plan.panelD >= e.d;
  rules.require(plan.baseBatch == 1 || whole,
                "base_batch of more than 1 needs whole images: raise panel_h and panel_d");
}

// Taps' channels are lanes together where they lie side by side, in the tensor or in a panel.
void checkTaps(const ConvView& v, const TilingPlan& plan, const Machine& m, Rules& rules) {
  rules.require(v.kernel.w > 1 && v.dilation.w == 1, [&] {
    return "lanes = taps needs several taps along W that are neighbours: kernel " + std::to_string(v.kernel.w) +
           ", dilation " + std::to_string(v.dilation.w);
  });
  rules.require(plan.panelB || (v.big.channelsLast && v.big.wStride == v.big.channels * byteSize(v.big.dtype)),
                "panel_b must be true: pixels of the lane operand do not follow each other");
  rules.require(plan.baseTapsW == 1, "base_taps_w must be 1: lanes = taps has all taps along W in its vectors");
  const std::int64_t vectors = divUp(v.kernel.w * v.big.channels, m.isa.lanes());
  rules.require(plan.baseVectors == vectors, [&] {
    return "base_vectors = " + std::to_string(plan.baseVectors) + " must be " + std::to_string(vectors) +
           ": lanes = taps has the " + std::to_string(v.big.channels) + " channels of all " +
           std::to_string(v.kernel.w) + " taps along W side by side";
  });
}

// Rows of both tensors are read where they lie, and sums of taps stay in registers.
void checkWeightPixels(const ConvView& v, const TilingPlan& plan, const Machine& m, Rules& rules) {
  for (const TensorView* t : {&v.big, &v.small}) {
    rules.require(!t->channelsLast && t->c0 == 0, "lanes = pixels of dw needs plain x and dy: choose other lanes");
  }
  rules.require(v.stride.w == 1, [&] {
    return "lanes = pixels of dw needs stride 1 along W, not " + std::to_string(v.stride.w) + ": choose other lanes";
  });
  rules.require(!plan.panelA && !plan.panelB && !plan.panelC && !plan.dotProducts,
                "lanes = pixels of dw has no panel_a, panel_b, panel_c or dot_products");
  rules.require(plan.baseTapsH <= v.kernel.h && plan.baseTapsW <= v.kernel.w,
                "base_taps_h and base_taps_w must not be more than the taps there are");
  rules.require(v.batch % plan.baseBatch == 0, [&] {
    return "base_batch = " + std::to_string(plan.baseBatch) + " must divide the " + std::to_string(v.batch) + " images";
  });
  const std::int64_t needed = plan.baseTapsH * plan.baseTapsW + plan.baseH + 2;
  rules.require(needed <= usableRegisters(m, true), [&] {
    return pair("vector registers (base_taps_h x base_taps_w + base_h + 2)", needed, usableRegisters(m, true),
                "shrink the base block");
  });
  requireReach(rules, "a base block",
               (plan.baseH * v.stride.h + plan.baseTapsH * v.dilation.h) * v.big.hStride +
                   plan.baseTapsW * v.dilation.w * 4 + v.kernel.h * v.kernel.w * m.isa.lanes() * 4);
}

void checkWeights(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  const ConvView v = makeConvView(p, Gradient::kDw);
  if (plan.lanes == LaneRole::kPixels) return checkWeightPixels(v, plan, m, rules);
  const bool swapped = plan.lanes == LaneRole::kSwapped;
  const TensorView &lane = swapped ? v.small : v.big, &row = swapped ? v.big : v.small;
  if (plan.lanes != LaneRole::kGroupCells) {
    const std::int64_t operands = swapped ? plan.baseVectors : plan.baseVectors * plan.baseTapsW;
    const std::int64_t needed =
        plan.baseRows * plan.baseTapsW * plan.baseVectors + operands + (plan.dotProducts ? 2 : 1);
    rules.require(needed <= usableRegisters(m, false) + (m.isa.maskRegs > 0 ? 0 : 1), [&] {
      return pair("vector registers (accumulators + operands + 1)", needed, usableRegisters(m, false),
                  "shrink the base block");
    });
    rules.require(!plan.firstTouch || (!plan.panelB && v.taps() == 1 && plan.order == IterateOrder::kPixelsOuter),
                  "first_touch needs one tap, order = pixels_outer and no panel_b: each block of lanes is copied once");
    const std::int64_t width = plan.baseVectors * m.isa.lanes();
    rules.require(lane.vectorsInPlace(m.isa.lanes(), width) || plan.panelB,
                  "panel_b must be true: the lane operand is not f32, f16 or bf16, channels-last or in blocks of whole "
                  "vectors that tiles do not straddle");
    rules.require(
        (row.scalarsInPlace(plan.baseRows) && !plan.dotProducts) || plan.panelA,
        "panel_a must be true: the row operand is not f32, plain, channels-last or in blocks that tiles of rows do not "
        "straddle");
    if (plan.lanes == LaneRole::kTaps) checkTaps(v, plan, m, rules);
    rules.require(!plan.panelC || plan.cores.reduction == 1,
                  "core_reduction must be 1 when panel_c is true: a task unpacks only complete sums");
    const std::int64_t scratchRow = v.taps() * plan.baseVectors * m.isa.lanes() * 4;
    requireReach(rules, "a base block of dw", plan.baseRows * std::max(scratchRow, lane.channels * 4));
    if (!plan.panelA && !row.channelsLast)
      requireReach(rules, "rows of a base block", row.channelOffset(plan.baseRows));
    const std::int64_t columns = std::min<std::int64_t>(34, v.small.extent.w);
    requireReach(rules, "columns of a step",
                 (columns - 1) * v.stride.w * v.big.wStride + plan.baseTapsW * v.dilation.w * v.big.wStride +
                     std::max(width * 4, plan.panelB ? 0 : lane.channelOffset(width)));
  }
}

// What the lowering does not read as it is must be converted first.
void checkStaging(const Problem& p, const TilingPlan& plan, const Machine& m, Rules& rules) {
  const GradientTensors tensors = tensorsOf(plan.gradient);
  const bool channelLanes =
      plan.gradient != Gradient::kDb && (plan.lanes == LaneRole::kChannels || plan.lanes == LaneRole::kSwapped ||
                                         (plan.lanes == LaneRole::kTaps && plan.gradient == Gradient::kDw));
  const bool reducedLanes = plan.gradient == Gradient::kDx && plan.lanes == LaneRole::kReduced;  // sums are f32
  const bool dotCells =
      plan.gradient == Gradient::kDx && plan.lanes == LaneRole::kGroupCells && plan.dotProducts;  // pack pairs
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    const TensorFormat f = formatOf(p, t);
    const bool takesMore = channelLanes || (reducedLanes && i + 1 < tensors.count) || (dotCells && t == TensorId::kW);
    const bool cells = plan.gradient != Gradient::kDb && plan.lanes == LaneRole::kGroupCells,
               pixels = plan.lanes == LaneRole::kPixels;
    const bool bias = plan.gradient == Gradient::kDb && t == TensorId::kDy;
    rules.require(isStaged(plan, t) || isCore(f, t) || (takesMore && isNative(p, t)) || (bias && isNativeOfBias(f)) ||
                      (cells && isNativeOfCells(p, t)) || (pixels && isNativeOfPixels(p, t)),
                  [&] {
                    const char* field = t == TensorId::kDy  ? "stage_dy"
                                        : t == TensorId::kX ? "stage_x"
                                        : t == TensorId::kW ? "stage_w"
                                                            : "stage_result";
                    return std::string(field) + " must be true: lanes = " + toString(plan.lanes) + " cannot take " +
                           toString(t) + " as " + toString(f.dtype) + " " + toString(f.layout) +
                           (f.strided() ? " with strides" : "");
                  });
  }
  if (!plan.dotProducts) return;
  rules.require(m.isa.bf16Dot,
                [&] { return std::string("dot_products: ") + toString(m.isa.level) + " has none of bf16"; });
  rules.require((channelLanes || ((reducedLanes || dotCells) && wholePairs(p))) &&
                    dotApplies(coreProblem(p, plan), plan.gradient),
                "dot_products need lanes of channels (dX, an even number of channels a group: or reduced ones, or "
                "group cells) and "
                "two operands of bf16");
}

void checkFold(const Problem& p, const TilingPlan& plan, Rules& rules) {
  if (!plan.spaceToDepth) return;
  rules.require(
      plan.gradient == Gradient::kDx && foldable(p),
      "space_to_depth is for dx of an ordinary convolution of one group whose kernel is as wide as its stride and "
      "whose windows cover x without padding along W");
  rules.require(plan.stageW, "space_to_depth needs stage_w");
  const TensorFormat dx = formatOf(p, TensorId::kDx);
  rules.require(plan.stageResult || (dx.layout == Layout::kNdhwc && !dx.strided()),
                "space_to_depth needs dx channels-last, or stage_result");
}

}  // namespace

std::vector<std::string> checkPlan(const Problem& asked, const TilingPlan& plan, const Machine& machine) {
  if (machine.isNpu()) return checkOnNpu(asked, plan, machine);
  if (plan.unit != PlanUnit::kVector)
    return {"unit = " + std::string(toString(plan.unit)) + " must be vector on " + machine.name};
  Rules rules;
  checkFold(asked, plan, rules);
  if (std::vector<std::string> broken = rules.take(); !broken.empty()) return broken;
  checkStaging(asked, plan, machine, rules);
  const bool staged = isStaged(plan);
  const Problem inner = staged ? coreProblem(asked, plan) : Problem{};
  const Problem& problem = staged ? inner : asked;
  describePlan(plan, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) {
      if (std::string_view(name).substr(0, 12) != "single_shape") rules.positive(name, field);
    }
  });
  std::vector<std::string> broken = rules.take();
  if (!broken.empty()) return broken;
  rules.require(plan.lanes == LaneRole::kWinograd || plan.winogradD * plan.winogradH * plan.winogradW == 1,
                "winograd_d, winograd_h and winograd_w must be 1 unless lanes = winograd");
  rules.require(!plan.firstTouch || (plan.gradient == Gradient::kDw &&
                                     (plan.lanes == LaneRole::kChannels || plan.lanes == LaneRole::kSwapped)),
                "first_touch must be false: only dw with lanes = channels or swapped has it");
  for (const auto& [role, gradient] : {std::pair{LaneRole::kReduced, Gradient::kDx},
                                       {LaneRole::kSwapped, Gradient::kDw},
                                       {LaneRole::kTaps, Gradient::kDw}}) {
    rules.require(plan.lanes != role || plan.gradient == gradient, [&, role = role, gradient = gradient] {
      return std::string("lanes = ") + toString(role) + " is for " + toString(gradient) + " only, not for " +
             toString(plan.gradient);
    });
  }
  for (const std::string& rule : brokenHints(problem, plan, machine)) rules.require(false, rule);
  if (plan.lanes == LaneRole::kWinograd) {
    for (const std::string& rule : winogradRules(problem, plan, machine)) rules.require(false, rule);
    return rules.take();
  }
  if (plan.gradient == Gradient::kDx) checkData(problem, plan, machine, rules);
  if (plan.gradient == Gradient::kDw) checkWeights(problem, plan, machine, rules);
  if (plan.gradient == Gradient::kDw && plan.lanes != LaneRole::kPixels) checkChunk(problem, plan, rules);
  if (plan.lanes == LaneRole::kGroupCells && plan.gradient != Gradient::kDb) checkCells(problem, plan, machine, rules);
  if (plan.gradient == Gradient::kDb) {
    rules.require(plan.baseVectors + 1 < machine.isa.vectorRegs, [&] {
      return pair("vector registers", plan.baseVectors + 1, machine.isa.vectorRegs, "lower base_vectors");
    });
    const ConvView v = makeConvView(problem, Gradient::kDb);
    requireReach(rules, "pixels of a step", 4 * (v.bigIsX ? v.small : v.big).wStride);
  }
  return rules.take();
}

}  // namespace cubejit
