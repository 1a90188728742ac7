// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans of the spatial algorithm are legal, of either gradient.
#include <algorithm>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/reduction_partition.h"
#include "algorithms/spatial/data_shape.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

void dataRules(const Problem& core, const ConvView& v, const SpatialDataPlan& plan, const Machine& m, bool rounds,
               Rules& rules) {
  const bool gather = v.bigIsX;
  const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
  const std::int64_t residues = residuesOf(v);
  MicrokernelRegisters sums;
  const std::int64_t each = plan.registerChannels * plan.registerH * plan.registerVectors;
  sums.accumulators = residues * each;
  sums.vectorsB = plan.registerVectors;
  sums.masks = true;
  if (!fitsRegisters(sums, m.isa)) {  // perhaps taps reach fewer residue classes, and no vector is cut
    const SpatialView g(core);
    sums.accumulators = static_cast<std::int64_t>(g.residues.size()) * each;
    sums.masks = g.endsInVector(m.isa.lanes(), !plan.bufferC);
  }
  requireRegisters(rules, sums, m.isa, "residue classes x register_channels x register_h x register_vectors");
  rules.require(plan.cache.h % plan.registerH == 0, "cache_h must be a multiple of register_h");
  rules.require(residues <= 64, "the spatial algorithm needs a stride along W of at most 64");
  rules.require(gather || v.stride.w == 1, "the spatial algorithm of a transposed convolution needs stride 1 along W");
  rules.require(!operand.channelsLast || plan.packA, "pack_a must be true: dy is not plain");
  rules.require(plan.bufferC || (!result.channelsLast && residues == 1 && v.stride.w == 1 && !rounds),
                "buffer_c must be true: results are channels-last, interleaved, or bf16 that no instruction rounds");
  // The rows that a block of several rows reads are steps of its kernel.
  const std::int64_t rowsRead =
      plan.registerH > 1 ? plan.registerH * (gather ? 1 : v.stride.h) + v.kernel.h * v.dilation.h : 0;
  const std::int64_t channelBytes = plan.packA ? (operand.extent.w + 32) * 4 : operand.cStride,
                     rowBytes = plan.packA ? channelBytes * operand.channels : operand.hStride;
  requireReach(rules, "steps of the reduction", (plan.unroll + 1) * channelBytes + rowsRead * rowBytes);
  if (plan.registerH > 1)
    requireReach(rules, "weights of a step", v.taps() * operand.channels * residues * plan.registerChannels * 4);
  if (!plan.bufferC) {
    requireReach(rules, "rows of a register block",
                 plan.registerChannels * result.cStride + plan.registerH * (gather ? v.stride.h : 1) * result.hStride);
  }
}

// Rows of both tensors are read where they lie, and sums of taps stay in registers.
void weightRules(const ConvView& v, const SpatialWeightsPlan& plan, const Machine& m, Rules& rules) {
  for (const TensorView* t : {&v.big, &v.small}) {
    rules.require(!t->channelsLast && t->c0 == 0, "spatial dw needs plain x and dy: choose another algorithm");
  }
  rules.require(v.stride.w == 1, [&] {
    return "spatial dw needs stride 1 along W, not " + std::to_string(v.stride.w) + ": choose another algorithm";
  });
  rules.require(plan.registerTapsH <= v.kernel.h && plan.registerTapsW <= v.kernel.w,
                "register_taps_h and register_taps_w must not be more than the taps there are");
  rules.require(plan.registerH <= std::max<std::int64_t>(1, v.small.extent.h), [&] {
    return "register_h = " + std::to_string(plan.registerH) + " must not be more than the " +
           std::to_string(v.small.extent.h) + " rows there are";
  });
  requireShortSums(rules, ReductionPartition(v, plan.reduction).sums(m.isa.lanes()), plan.reductionParts);
  MicrokernelRegisters sums;
  sums.accumulators = plan.registerTapsH * plan.registerTapsW;
  sums.vectorsB = plan.registerH;
  sums.vectorsA = true;
  sums.masks = v.small.extent.w % m.isa.lanes() != 0 || v.small.extent.w != v.big.extent.w || v.pad.w > 0;
  requireRegisters(rules, sums, m.isa, "register_taps_h x register_taps_w");
  requireReach(rules, "a register block",
               (plan.registerH * v.stride.h + plan.registerTapsH * v.dilation.h) * v.big.hStride +
                   plan.registerTapsW * v.dilation.w * 4 + v.kernel.h * v.kernel.w * m.isa.lanes() * 4);
}

}  // namespace

void spatialRules(const Problem& core, const SpatialDataPlan& plan, const Machine& machine, Rules& rules) {
  const ConvView v = makeConvView(core, Pass::kDx, OneAxis::kInRows);
  dataRules(core, v, plan, machine, !plan.bufferC && roundsByIntegers((v.bigIsX ? v.big : v.small).dtype, machine.isa),
            rules);
}

void spatialRules(const Problem& core, const SpatialWeightsPlan& plan, const Machine& machine, Rules& rules) {
  requireReductionBlocks(rules, core, plan.reduction);
  weightRules(makeConvView(core, Pass::kDw), plan, machine, rules);
}

}  // namespace cubejit
