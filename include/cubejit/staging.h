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

/// True if lowerings with channel lanes (dX: channels; dW: channels, swapped, taps) take the tensor as it is, through panels where
/// need be: activations of any type, dense, in any layout whose blocks do not hold channels of two groups; plain weights of any
/// type.
inline bool isNative(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  if (f.strided()) return false;
  if (t == TensorId::kW || t == TensorId::kDw) return f.layout == Layout::kNcdhw;
  if (t == TensorId::kDb) return f.dtype == DType::kF32;
  const std::int64_t channels = (t == TensorId::kDy ? p.cout : p.cin) / p.groups;
  return f.layout != Layout::kNdc1hwc0 || p.groups == 1 || channels % f.blockChannels() == 0;
}

/// True for dense activations that are plain or channels-last.
inline bool isPlainOrChannelsLast(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  const bool activation = t == TensorId::kDy || t == TensorId::kX || t == TensorId::kDx;
  return activation && !f.strided() && (f.layout == Layout::kNcdhw || f.layout == Layout::kNdhwc);
}

/// True if lowerings with group cells take the tensor as it is: dense activations of any type, plain or channels-last, through panels
/// where need be; blocked ones where they lie, if blocks hold whole groups (dx of several channels a group: and the last block is
/// full), but for HF32, whose operands are rounded when they are converted.
inline bool isNativeOfCells(const Problem& p, TensorId t) {
  if (isPlainOrChannelsLast(p, t)) return true;
  const TensorFormat f = formatOf(p, t);
  const bool activation = t == TensorId::kDy || t == TensorId::kX || t == TensorId::kDx;
  if (!activation || f.strided() || f.layout != Layout::kNdc1hwc0 || isHf32(f.dtype)) return false;
  const std::int64_t channels = t == TensorId::kDy ? p.cout : p.cin, block = f.blockChannels();
  const bool depthwise = p.cin == p.groups && p.cout == p.groups;
  return channels > 0 && block % (channels / p.groups) == 0 &&
         (t != TensorId::kDx || depthwise || channels % block == 0);
}

/// True if lowerings with pixel lanes do: those without HF32, whose operands are rounded when they are converted.
inline bool isNativeOfPixels(const Problem& p, TensorId t) {
  return isPlainOrChannelsLast(p, t) && !isHf32(formatOf(p, t).dtype);
}

/// True if the lowering of db takes dy as it is: dense, in any layout, of any type but HF32, whose operands are rounded.
inline bool isNativeOfBias(const TensorFormat& f) { return !f.strided() && !isHf32(f.dtype); }

/// True if the gradient's operands are pairs for a dot product of bf16: both bf16.
inline bool dotApplies(const Problem& p, Gradient gradient) {
  const auto bf16 = [&](TensorId t) { return formatOf(p, t).dtype == DType::kBf16; };
  if (gradient == Gradient::kDx) return bf16(TensorId::kDy) && bf16(TensorId::kW);
  return gradient == Gradient::kDw && bf16(TensorId::kDy) && bf16(TensorId::kX);
}

/// True if no channel of dy is left without a partner when those of a group are paired. Lanes of channels (dX) pair the last one
/// with zero, in a panel; lanes of reduced channels and group cells do not.
inline bool wholePairs(const Problem& p) { return p.cout / p.groups % 2 == 0; }

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
inline bool isStaged(const TilingPlan& plan) { return plan.stageDy || plan.stageX || plan.stageW || plan.stageResult; }
inline void setStaged(TilingPlan& plan, TensorId t) {
  (t == TensorId::kDy  ? plan.stageDy
   : t == TensorId::kX ? plan.stageX
   : t == TensorId::kW ? plan.stageW
                       : plan.stageResult) = true;
}

/// True if no result of a convolution shares a column of x with another: columns can be folded into channels (space to depth)
/// without moving x, as the patch embeddings of vision transformers ask for.
inline bool foldable(const Problem& p) {
  return !p.transposed && p.groups == 1 && p.kernel.w > 1 && p.stride.w == p.kernel.w && p.dilation.w == 1 &&
         p.padBefore.w == 0 && p.padAfter.w == 0 && p.in.w == p.out.w * p.kernel.w;
}

/// Weights of a foldable problem as the folded one has them: plain, of kernel.w * cin channels, column by column.
inline TensorFormat foldedWeights(const Problem& p, DType dtype) {
  TensorFormat f;
  f.dtype = dtype;
  const std::int64_t taps = p.kernel.d * p.kernel.h;
  f.strides = {p.kernel.w * p.cin * taps, taps, p.kernel.h, 1, p.cin * taps};
  return f;
}

/// The type of staged weights: f32, but pairs of bf16 stay what they are.
inline DType stagedWeightType(const Problem& p, const TilingPlan& plan) {
  return plan.spaceToDepth && formatOf(p, TensorId::kW).dtype == DType::kBf16 ? DType::kBf16 : DType::kF32;
}

/// The problem with every staged tensor as the lowering gets it.
inline Problem coreProblem(const Problem& problem, const TilingPlan& plan) {
  Problem core = problem;
  const GradientTensors tensors = tensorsOf(plan.gradient);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    if (!isStaged(plan, tensors.ids[i])) continue;
    TensorFormat format = coreFormat(tensors.ids[i]);
    if (tensors.ids[i] == TensorId::kW) format.dtype = stagedWeightType(problem, plan);
    core.formats[static_cast<std::size_t>(tensors.ids[i])] = format;
  }
  if (!plan.spaceToDepth) return core;
  core.cin *= core.kernel.w;
  core.in.w /= core.kernel.w;
  core.kernel.w = core.stride.w = 1;
  return core;
}

}  // namespace cubejit
