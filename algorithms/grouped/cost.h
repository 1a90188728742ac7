// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the terms that the costs of dX and of dW with groups side by side share. Rates come from the machine; the constants in
// kit/rates.h were measured on Zen4.
#pragma once

#include "algorithms/algorithm.h"
#include "algorithms/grouped/shape.h"
#include "cubejit/plan.h"

namespace cubejit {

/// Cycles of multiply-accumulates and permutes.
double arithmeticCycles(double fmas, double permutes, const Machine& m, bool dots = false);

/// Instructions beside the load, or the store, of a vector where it lies.
inline double convertedVectors(const TensorView& t, double vectors) {
  return t.dtype == DType::kF32 ? 0 : 1.5 * vectors;
}

/// (result, tap) pairs inside the tensors, over all three axes.
double validPairs(const ConvView& v);

/// Positions of the other tensor that `run` pixels and `taps` taps reach; `step` is the stride of the run in those positions.
double reached(double run, double taps, double step, double dilation);

/// Cycles of filling, or emptying, a panel.
double panelMoveCycles(const GroupedShape& s, std::int64_t groupParts, const TensorView& t, const Machine& m);

double spreadOf(double tasks, int cores);

/// The total, of parts that overlap, or do not.
void finish(PlanCost& cost, const Machine& m, double tasks, double spread);

}  // namespace cubejit
