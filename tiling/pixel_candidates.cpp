// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides candidates and costs of pixel lanes: rows are (residue class x channel), vectors run along W.
#include "tiling/pixel_candidates.h"

#include <cmath>

#include "cubejit/axis_phases.h"
#include "cubejit/conv_view.h"
#include "tiling/host_shape.h"

namespace cubejit {
namespace {

struct Ground {
  ConvView view;
  TensorView result, operand;
  bool gather = true;
  std::vector<AxisPhase> phases;
  std::int64_t longest = 0;
};

AxisRelation relationOf(const Ground& g, int axis) {
  return AxisRelation{g.gather,
                      g.result.extent[axis],
                      g.operand.extent[axis],
                      g.view.kernel[axis],
                      g.view.stride[axis],
                      g.view.dilation[axis],
                      g.view.pad[axis]};
}

Ground groundOf(const Problem& p) {
  Ground g;
  g.view = makeConvView(p, Gradient::kDx);
  g.gather = g.view.bigIsX;
  g.result = g.gather ? g.view.big : g.view.small;
  g.operand = g.gather ? g.view.small : g.view.big;
  if (g.gather ? g.view.stride.w <= 64 : g.view.stride.w == 1) g.phases = axisPhases(relationOf(g, 2));
  for (const AxisPhase& phase : g.phases) g.longest = std::max(g.longest, phase.count);
  return g;
}

double f32Bytes(const TensorView& t) { return static_cast<double>(t.bytes / byteSize(t.dtype) * 4); }

std::int64_t insideTaps(const Ground& g, int axis) {
  std::int64_t rows = 0;
  for (const AxisPhase& phase : axisPhases(relationOf(g, axis))) {
    for (const BlockTap& tap : phase.taps) rows += tap.hi - tap.lo;
  }
  return rows;
}

}  // namespace

std::vector<TilingPlan> dataPixelCandidates(const Problem& problem, const Machine& m) {
  const Ground g = groundOf(problem);
  std::vector<TilingPlan> out;
  const auto phases = static_cast<std::int64_t>(g.phases.size());
  // Wide kernels would need a section per shift; many channels fill lanes by themselves.
  if (phases == 0 || phases > 8 || g.view.kernel.w > 16) return out;
  if (g.result.channelsLast && g.result.channels > 2 * m.isa.lanes()) return out;
  const std::int64_t regs = usableRegisters(m, true) - 1, most = divUp(g.longest, m.isa.lanes());
  std::int64_t last = 0;
  for (const std::int64_t limit : {8, 7, 6, 5, 4, 3, 2, 1}) {
    const std::int64_t vectors = equalPiece(most, limit);
    if (vectors == last) continue;
    last = vectors;
    const std::int64_t rows = (regs - vectors) / (vectors * phases);
    if (rows < 1) continue;
    TilingPlan plan;
    plan.gradient = Gradient::kDx;
    plan.lanes = LaneRole::kPixels;
    plan.baseVectors = vectors;
    plan.baseRows = equalPiece(g.result.channels, rows);
    plan.unroll =
        std::min<std::int64_t>(g.operand.channels, g.operand.channels % 8 == 0 && g.view.kernel.w <= 3 ? 8 : 4);
    plan.panelB = g.operand.channelsLast;
    plan.panelC = g.result.channelsLast || phases > 1 || g.view.stride.w > 1 || roundsByIntegers(g.result.dtype, m.isa);
    for (const std::int64_t depths : {1, 4, 8}) {
      for (const std::int64_t rowsH : {1, 2, 4, 8, 16, 32}) {
        plan.panelD = std::min(depths, std::max<std::int64_t>(1, g.result.extent.d));
        plan.panelH = std::min(rowsH, std::max<std::int64_t>(1, g.result.extent.h));
        const double bytes = static_cast<double>((plan.panelD + g.view.kernel.d) * (plan.panelH + g.view.kernel.h) *
                                                 g.operand.channels * g.operand.extent.w * 4);
        if (plan.panelB && bytes > 2.0 * static_cast<double>(m.buffers.l1Bytes) && (plan.panelD > 1 || plan.panelH > 1))
          continue;
        out.push_back(plan);
        // Planes far apart: every row is on a page of its own, and no prefetcher follows. Stage them too.
        if (g.operand.channelsLast || g.operand.cStride < kFarPlaneBytes ||
            bytes > 2.0 * static_cast<double>(m.buffers.l1Bytes))
          continue;
        out.push_back(plan);
        out.back().panelB = true;
      }
    }
  }
  return out;
}

PlanCost dataPixelCost(const Problem& problem, const TilingPlan& plan, const Machine& m) {
  const Ground g = groundOf(problem);
  const double lanes = m.isa.lanes(), phases = static_cast<double>(g.phases.size());
  const double reduced = static_cast<double>(g.operand.channels), groups = static_cast<double>(g.view.groups),
               images = static_cast<double>(g.view.batch);
  const double vectorsAll = std::ceil(static_cast<double>(g.longest) / lanes),
               blocks = std::ceil(vectorsAll / static_cast<double>(plan.baseVectors));
  const double channelBlocks = std::ceil(static_cast<double>(g.result.channels) / static_cast<double>(plan.baseRows));
  const double rows = static_cast<double>(g.result.channels) / channelBlocks, vectors = vectorsAll / blocks;
  double tapsW = 0, shifts = 0;
  for (const AxisPhase& phase : g.phases) {
    tapsW += static_cast<double>(phase.taps.size());
    shifts = std::max(shifts, static_cast<double>(phase.taps.size()));
  }
  const double outerTaps =
      static_cast<double>(insideTaps(g, 0)) * static_cast<double>(insideTaps(g, 1));  // over all result rows
  const double meanPhases = shifts > 0 ? tapsW / shifts : 1;
  PlanCost cost;
  const double fma = meanPhases * rows * vectors / m.rates.fmaPerCycle;
  // Instructions beside the load of a 16-bit vector take turns with the FMAs.
  const double converted = plan.panelB || g.operand.dtype == DType::kF32 ? 0 : vectors * 0.7;
  const double loads = vectors * 1.25 * m.rates.vectorLoadCycles + meanPhases * rows * m.rates.broadcastCycles;
  const double step = std::max({fma + converted, loads, 4.0}) + m.rates.exposedLoads * loads;
  const double visits = images * groups * outerTaps * shifts * blocks * channelBlocks;
  const double rowsAll = images * groups * static_cast<double>(g.result.extent.d * g.result.extent.h);
  cost.computeCycles = visits * reduced * step / vectorsAtOnce(m) * 1.02;
  cost.callCycles =
      visits * kSegmentCycles + rowsAll * blocks * channelBlocks * (kCallCycles + 2.0 * phases * rows * vectors);
  const double slabRows = static_cast<double>(plan.panelH + (g.view.kernel.h - 1) * g.view.dilation.h) *
                          static_cast<double>(plan.panelD + (g.view.kernel.d - 1) * g.view.dilation.d);
  const double slabBytes = slabRows * reduced * static_cast<double>(g.operand.extent.w) * 4;
  cost.memoryCycles =
      visits * reduced * vectors * lanes * 4 / std::max(1.0, shifts) / bytesPerCycle(m, slabBytes, false) +
      static_cast<double>(g.operand.bytes) / bytesPerCycle(m, static_cast<double>(g.operand.bytes), true) +
      1.5 * static_cast<double>(g.result.bytes) / bytesPerCycle(m, static_cast<double>(g.result.bytes), true);
  // Weights are broadcast from where all of them lie; past L2 a stream of broadcasts waits for every line.
  const double packed = static_cast<double>(g.view.taps()) * reduced * static_cast<double>(g.result.channels) * 4;
  cost.memoryCycles += visits * reduced * meanPhases * rows * 4 /
                       (packed <= 0.5 * static_cast<double>(m.buffers.l1Bytes) ? 16.0 : kBroadcastBytesPerCycle);
  // Plain rows of the reduced channels are planes apart; a power-of-two distance makes them collide in L1.
  if (!plan.panelB && (g.operand.cStride % 4096 == 0 || g.operand.cStride >= kFarPlaneBytes)) cost.computeCycles *= 1.3;
  if (plan.panelB) {
    const double reach = slabRows / static_cast<double>(plan.panelH * plan.panelD) *
                         (g.gather ? 1.0 / static_cast<double>(g.view.stride.h * g.view.stride.d) : 1.0);
    cost.moveCycles += f32Bytes(g.operand) * std::max(1.0, reach) *
                       std::max((g.operand.channelsLast ? m.rates.transposeCycles : m.rates.copyCycles) / 64.0,
                                1.0 / bytesPerCycle(m, static_cast<double>(g.operand.bytes), true));
  }
  if (plan.panelC)
    cost.moveCycles +=
        f32Bytes(g.result) / 4.0 * (g.result.channelsLast ? 2.0 / std::max(1.0, rows) + 0.3 : 2.0 / phases + 0.3);
  const double slabsH = static_cast<double>(g.result.extent.h) / static_cast<double>(plan.panelH);
  const double copies =
      images * groups * std::ceil(static_cast<double>(g.result.extent.d) / static_cast<double>(plan.panelD));
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = dealtCycles(g.view, busy, copies, slabsH, m, kTaskCycles);
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
  return cost;
}

}  // namespace cubejit
