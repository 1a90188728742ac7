// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a lowering sees of a problem whose tensors have other types and layouts than it reads: the core problem.
// Leaves the conversions around it to algorithms/transforms/reorder.
#pragma once

#include <optional>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/weight_order.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// The tensors a gradient reads and writes, in this order; the last one is the result.
struct PassTensors {
  std::array<TensorId, 3> ids{};
  std::size_t count = 0;
};
inline PassTensors tensorsOf(Pass g) {
  if (g == Pass::kDx) return {{TensorId::kDy, TensorId::kW, TensorId::kDx}, 3};
  if (g == Pass::kDw) return {{TensorId::kDy, TensorId::kX, TensorId::kDw}, 3};
  return {{TensorId::kDy, TensorId::kDb, TensorId::kDb}, 2};
}

/// True for activations that are plain or channels-last, with gaps if they are strided.
inline bool isPlainOrChannelsLast(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  if (!isActivation(t)) return false;
  if (!f.strided()) return f.layout == Layout::kNcdhw || f.layout == Layout::kNdhwc;
  const conv_view_detail::Gaps g = conv_view_detail::gapsOf(p, t);
  return !g.apart && !g.far;
}

/// True if every lowering takes the tensor as it is: f32; activations plain or channels-last, weights in any order.
inline bool isCore(const Problem& p, TensorId t) {
  if (formatOf(p, t).dtype != DType::kF32) return false;
  return isWeights(t) ? hasOrder(p, t) : t == TensorId::kDb || isPlainOrChannelsLast(p, t);
}

/// True for tensors that direct algorithms take through panels where need be: activations of any type, strided or in any layout whose
/// blocks do not hold channels of two groups; weights of any type, in any order, dense or not.
inline bool isInWholeBlocks(const Problem& p, TensorId t) {
  if (isWeights(t)) return hasOrder(p, t);
  const TensorFormat f = formatOf(p, t);
  if (f.strided()) return !conv_view_detail::gapsOf(p, t).far;
  if (t == TensorId::kDb) return f.dtype == DType::kF32;
  const std::int64_t channels = (isOfOutput(t) ? p.cout : p.cin) / p.groups;
  return f.layout != Layout::kNdc1hwc0 || p.groups == 1 || channels % f.blockChannels() == 0;
}

/// True if the gradient's operands are pairs for products of two: both of a type that has them (dot products: bf16), and the members of a pair are
/// two elements, which those of an expanded tensor may not be.
inline bool dotApplies(const Problem& p, Pass pass, DType type = DType::kBf16) {
  const auto paired = [&](TensorId t) {
    const TensorFormat f = formatOf(p, t);
    if (!isActivation(t) || !f.strided()) return f.dtype == type;
    const conv_view_detail::Gaps g = conv_view_detail::gapsOf(p, t);
    return f.dtype == type && g.n != 0 && g.c != 0 && g.w != 0;
  };
  // Members of a pair of channels that lie further apart than displacements reach are none.
  constexpr std::int64_t kMostPairBytes = std::int64_t{1} << 30;
  const TensorFormat dy = formatOf(p, TensorId::kDy);
  const std::int64_t apart = dy.strided()                  ? conv_view_detail::gapsOf(p, TensorId::kDy).c
                             : dy.layout == Layout::kNcdhw ? p.out.volume() * byteSize(dy.dtype)
                                                           : 0;
  if (pass == Pass::kDx) return paired(TensorId::kDy) && paired(TensorId::kW) && apart <= kMostPairBytes;
  return pass == Pass::kDw && paired(TensorId::kDy) && paired(TensorId::kX);
}

/// True if no channel of dy is left without a partner when those of a group are paired. Lanes of channels (dX) pair the last one
/// with zero, in a panel; lanes of input channels and groups side by side do not.
inline bool wholePairs(const Problem& p) { return p.cout / p.groups % 2 == 0; }

/// What a staged tensor is converted to: f32, activations channels-last, weights plain. Strided activations of 16 bits keep their type:
/// they are converted because of how they lie, but where math is relaxed, since Winograd reads f32 alone.
inline TensorFormat coreFormat(const Problem& p, TensorId t) {
  const TensorFormat given = formatOf(p, t);
  TensorFormat f;
  f.layout = isActivation(t) ? Layout::kNdhwc : Layout::kNcdhw;
  const bool keepsType = isActivation(t) && given.strided() && byteSize(given.dtype) == 2;
  if (keepsType && p.math == MathMode::kStrict) f.dtype = given.dtype;
  return f;
}

inline bool isReordered(const Reorders& reorders, TensorId t) {
  switch (t) {
    case TensorId::kDy: return reorders.dy;
    case TensorId::kX: return reorders.x;
    case TensorId::kW: return reorders.w;
    default: return reorders.result;
  }
}
inline void setReordered(Reorders& reorders, TensorId t) {
  (t == TensorId::kDy  ? reorders.dy
   : t == TensorId::kX ? reorders.x
   : t == TensorId::kW ? reorders.w
                       : reorders.result) = true;
}

/// Reorders of the tensors that `takes(t)` refuses and that are not core.
template <class Takes>
Reorders reordersFor(Pass pass, const Takes& takes) {
  Reorders reorders;
  const PassTensors tensors = tensorsOf(pass);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    if (!takes(t)) setReordered(reorders, t);
  }
  return reorders;
}
/// Reorders of everything that not every lowering takes; but views whose channels or pixels are neighbours are not copied as a whole.
inline Reorders reordersToCore(const Problem& p, Pass pass) {
  return reordersFor(
      pass, [&](TensorId t) { return isCore(p, t) || (formatOf(p, t).strided() && isPlainOrChannelsLast(p, t)); });
}

/// Reorders of everything that is not f32, channels-last or, of weights, plain.
inline Reorders reordersToChannelsLast(const Problem& p, Pass pass) {
  return reordersFor(pass, [&](TensorId t) { return formatOf(p, t) == coreFormat(p, t); });
}

/// The tensor whose columns become channels where they are folded (space to depth): the big one, dx of an ordinary convolution, dy of a
/// transposed one.
inline TensorId foldedTensor(const Problem& p) { return p.transposed ? TensorId::kDy : TensorId::kDx; }

inline std::int64_t foldedChannels(const Problem& p) { return p.transposed ? p.cout : p.cin; }

/// True if no position of the small tensor shares a column of the big one with another: columns can be folded into channels without moving
/// channels-last elements, as the patch embeddings of vision transformers ask for.
inline bool foldable(const Problem& p) {
  const std::int64_t small = p.transposed ? p.in.w : p.out.w, big = p.transposed ? p.out.w : p.in.w;
  return p.groups == 1 && p.kernel.w > 1 && p.stride.w == p.kernel.w && p.dilation.w == 1 && p.padBefore.w == 0 &&
         p.padAfter.w == 0 && big == small * p.kernel.w;
}

/// True if the folded tensor is channels-last as it lies, which one channel always is.
inline bool foldsInPlace(const Problem& p) {
  const TensorFormat f = formatOf(p, foldedTensor(p));
  return !f.strided() && (f.layout == Layout::kNdhwc || (f.layout == Layout::kNcdhw && foldedChannels(p) == 1));
}

/// Weights of a foldable problem as the folded one has them once they are moved: plain, of kernel.w channels for each of the folded tensor's,
/// column by column.
inline TensorFormat foldedWeights(const Problem& p, DType dtype) {
  TensorFormat f;
  f.dtype = dtype;
  const std::int64_t taps = p.kernel.d * p.kernel.h, channels = foldedChannels(p);
  f.strides = {p.kernel.w * channels * taps, taps, p.kernel.h, 1, channels * taps};
  return f;
}

/// True if weights of a foldable problem are folded as they lie: columns follow each other where there is one channel.
inline bool weightsFoldInPlace(const Problem& p) {
  return foldedChannels(p) == 1 && !formatOf(p, TensorId::kW).strided() && hasOrder(p, TensorId::kW);
}

/// The type of a staged tensor: that of coreFormat, but pairs of bf16 that are folded stay what they are, and operands become such pairs
/// where they are rounded.
inline DType stagedType(const Problem& p, TensorId t, const Reorders& reorders) {
  if (isResult(t)) return coreFormat(p, t).dtype;
  const bool pairs = reorders.spaceToDepth && formatOf(p, t).dtype == DType::kBf16;
  return pairs || reorders.toBf16 ? DType::kBf16 : coreFormat(p, t).dtype;
}

/// Reorders that round operands of f32 to bf16, if math allows it and nothing else is multiplied with them.
inline std::optional<Reorders> roundingReorders(const Problem& p, Pass pass) {
  if (p.math != MathMode::kBf16 || pass == Pass::kDb) return std::nullopt;
  Reorders reorders;
  const PassTensors tensors = tensorsOf(pass);
  for (std::size_t i = 0; i + 1 < tensors.count; ++i) {
    const DType type = formatOf(p, tensors.ids[i]).dtype;
    if (type != DType::kF32 && type != DType::kBf16) return std::nullopt;
    if (type == DType::kF32) setReordered(reorders, tensors.ids[i]);
  }
  reorders.toBf16 = reorders.any();
  return reorders.toBf16 ? std::optional(reorders) : std::nullopt;
}

/// The problem with every staged tensor as the lowering gets it.
inline Problem coreProblem(const Problem& problem, Pass pass, const Reorders& reorders) {
  Problem core = problem;
  const PassTensors tensors = tensorsOf(pass);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    if (!isReordered(reorders, tensors.ids[i])) continue;
    TensorFormat format = coreFormat(problem, tensors.ids[i]);
    format.dtype = stagedType(problem, tensors.ids[i], reorders);
    // Weights are taken in any order: what is changed is their type.
    if (isWeights(tensors.ids[i]) && !reorders.spaceToDepth &&
        formatOf(problem, tensors.ids[i]).layout == Layout::kNdhwc)
      format.layout = Layout::kNdhwc;
    core.formats[static_cast<std::size_t>(tensors.ids[i])] = format;
  }
  if (!reorders.spaceToDepth) return core;
  TensorFormat folded = formatOf(core, foldedTensor(core));
  folded.layout = Layout::kNdhwc;
  core.formats[static_cast<std::size_t>(foldedTensor(core))] = folded;
  if (!reorders.w) {
    TensorFormat w;
    w.dtype = formatOf(problem, TensorId::kW).dtype;
    const Dhw& k = problem.kernel;
    w.strides = {k.volume(), 1, k.h * k.w, k.w, 1};
    core.formats[static_cast<std::size_t>(TensorId::kW)] = w;
  }
  (core.transposed ? core.cout : core.cin) *= core.kernel.w;
  (core.transposed ? core.out : core.in).w /= core.kernel.w;
  core.kernel.w = core.stride.w = 1;
  return core;
}

inline Problem coreProblem(const Problem& problem, const TilingPlan& plan) {
  return coreProblem(problem, plan.pass, plan.reorders);
}

}  // namespace cubejit
