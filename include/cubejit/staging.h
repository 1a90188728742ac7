// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a lowering sees of a problem whose tensors have other types and layouts than it reads: the core problem.
// Leaves the conversions around it to codegen/lower/stage.
#pragma once

#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// The tensors a gradient reads and writes, in this order; the last one is the result.
struct GradientTensors {
  std::array<TensorId, 3> ids{};
  std::size_t count = 0;
};
inline GradientTensors tensorsOf(Gradient g) {
  if (g == Gradient::kDx) return {{TensorId::kDy, TensorId::kW, TensorId::kDx}, 3};
  if (g == Gradient::kDw) return {{TensorId::kDy, TensorId::kX, TensorId::kDw}, 3};
  return {{TensorId::kDy, TensorId::kDb, TensorId::kDb}, 2};
}

/// True if every lowering takes the tensor as it is: dense f32; activations plain or channels-last, weights plain.
inline bool isCore(const TensorFormat& f, TensorId t) {
  const bool activation = t == TensorId::kDy || t == TensorId::kX || t == TensorId::kDx;
  return f.dtype == DType::kF32 && !f.strided() &&
         (t == TensorId::kDb || f.layout == Layout::kNcdhw || (activation && f.layout == Layout::kNdhwc));
}

/// What a staged tensor is converted to: f32, activations channels-last, weights plain.
inline TensorFormat coreFormat(TensorId t) {
  const bool activation = t == TensorId::kDy || t == TensorId::kX || t == TensorId::kDx;
  TensorFormat f;
  f.layout = activation ? Layout::kNdhwc : Layout::kNcdhw;
  return f;
}

inline bool isStaged(const TilingPlan& plan, TensorId t) {
  switch (t) {
    case TensorId::kDy: return plan.stageDy;
    case TensorId::kX: return plan.stageX;
    case TensorId::kW: return plan.stageW;
    default: return plan.stageResult;
  }
}
inline void setStaged(TilingPlan& plan, TensorId t) {
  (t == TensorId::kDy  ? plan.stageDy
   : t == TensorId::kX ? plan.stageX
   : t == TensorId::kW ? plan.stageW
                       : plan.stageResult) = true;
}

/// The problem with every staged tensor as the lowering gets it.
inline Problem coreProblem(const Problem& problem, const TilingPlan& plan) {
  Problem core = problem;
  const GradientTensors tensors = tensorsOf(plan.gradient);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    if (isStaged(plan, tensors.ids[i]))
      core.formats[static_cast<std::size_t>(tensors.ids[i])] = coreFormat(tensors.ids[i]);
  }
  return core;
}

}  // namespace cubejit
