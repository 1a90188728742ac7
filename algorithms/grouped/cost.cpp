// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan with groups side by side costs, of either gradient, and the terms that both share.
#include "algorithms/grouped/cost.h"

#include <algorithm>

#include "algorithms/grouped/grouped.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {

// Three FMAs hide a permute; beyond that they share issue slots (performance facts: FMA + permute pairs run at 0.75 a cycle).
double arithmeticCycles(double fmas, double permutes, const Machine& m, bool dots) {
  return fmas / fmasPerCycle(m, dots) + std::max(0.0, permutes - fmas / 3.0) * 0.6 / m.rates.fmaPerCycle;
}

double validPairs(const ConvView& v) {
  double pairs = 1;
  for (int a = 0; a < 3; ++a) {
    double along = 0;
    for (const ResidueClass& residue : residueClasses(AxisRelation{
             true, v.big.extent[a], v.small.extent[a], v.kernel[a], v.stride[a], v.dilation[a], v.pad[a]})) {
      for (const BlockTap& tap : residue.taps) along += static_cast<double>(tap.hi - tap.lo);
    }
    pairs *= along;
  }
  return pairs;
}

double reached(double run, double taps, double step, double dilation) {
  return std::min(run * taps, (run - 1) * step + (taps - 1) * dilation + 1);
}

// Tasks that take less than a line of each pixel bring lines that others bring too.
double panelMoveCycles(const GroupedShape& s, std::int64_t groupParts, const TensorView& t, const Machine& m) {
  const std::int64_t piece =
      divUp(s.blocks, groupParts) * s.perBlock * t.channels * static_cast<std::int64_t>(byteSize(t.dtype));
  const bool narrow = t.channelsLast && groupParts > 1 && piece < 64;
  return panelVectors(t) * panelCycles(t, m) * (narrow ? 2.0 : 1.0);
}

double spreadOf(double tasks, int cores) {
  return tasks >= 8.0 * cores ? 1.0 + cores / tasks : imbalance(tasks, cores);
}

void finish(PlanCost& cost, const Machine& m, double tasks, double spread) {
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      0.2 * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = busy / m.cores * spread + tasks * 60.0 / m.cores;
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
}

}  // namespace cubejit
