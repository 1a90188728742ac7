// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the fields of tilings. Formulas of the adjoint's pads and of initOutputFlag are those of the documentation.
#include "api/ascendc/tiling_values.h"

#include <algorithm>
#include <bit>

#include "cubejit/index_map.h"
#include "tiling/rounding.h"

namespace cubejit::ascendc {
namespace {

using InputTiling = AscendC::tiling::TConv3DBackpropInputTiling;
using FilterTiling = AscendC::tiling::TConv3DBpFilterTiling;

std::uint32_t u32(std::int64_t v) { return static_cast<std::uint32_t>(v); }

std::int64_t reach(const Problem& p, int a) { return (p.kernel[a] - 1) * p.dilation[a]; }
std::int64_t head(const Problem& p, int a) { return reach(p, a) - p.padBefore[a]; }

// Pad of the adjoint behind: what the input needs beyond the last tap of the spread gradient.
std::int64_t tail(const Problem& p, int a) {
  const std::int64_t exact = p.in[a] - ((p.out[a] - 1) * p.stride[a] + 1) + reach(p, a) - head(p, a);
  if (exact >= 0 && exact <= 255) return exact;
  return std::max<std::int64_t>(0, p.in[a] - p.out[a] * p.stride[a] + p.padBefore[a]);
}

template <class T>
void setShared(T& t, const Problem& p) {
  t.batch = u32(p.batch);
  t.cin = u32(p.cin);
  t.cout = u32(p.cout);
  t.dout = u32(p.out.d), t.ho = u32(p.out.h), t.wo = u32(p.out.w);
  t.di = u32(p.in.d), t.hi = u32(p.in.h), t.wi = u32(p.in.w);
  t.dk = u32(p.kernel.d), t.hk = u32(p.kernel.h), t.wk = u32(p.kernel.w);
  t.strideD = u32(p.stride.d), t.strideH = u32(p.stride.h), t.strideW = u32(p.stride.w);
  t.padFront = u32(p.padBefore.d), t.padUp = u32(p.padBefore.h), t.padLeft = u32(p.padBefore.w);
  t.padBack = u32(p.padAfter.d), t.padDown = u32(p.padAfter.h), t.padRight = u32(p.padAfter.w);
  t.dilationD = u32(p.dilation.d), t.dilationH = u32(p.dilation.h), t.dilationW = u32(p.dilation.w);
}

template <class T>
void setBlocks(T& t, const CubeTile& c) {
  t.al0Pbuffer = u32(c.buffersL0a), t.bl0Pbuffer = u32(c.buffersL0b), t.cl0Pbuffer = u32(c.buffersL0c);
  t.al1Pbuffer = u32(c.buffersA1), t.bl1Pbuffer = u32(c.buffersB1);
  t.baseM = u32(c.base.m), t.baseK = u32(c.base.k), t.baseN = u32(c.base.n);
  t.stepM = u32(c.stepM), t.stepN = u32(c.stepN), t.stepKa = u32(c.stepKa), t.stepKb = u32(c.stepKb);
  t.iterateOrder = c.order == BlockOrder::kNOuter ? 1 : 0;
}

}  // namespace

Problem problemOf(const TilingRequest& r) {
  Problem p;
  p.batch = r.n;
  p.cin = r.cin;
  p.cout = r.cout;
  p.groups = r.groups;
  const auto dhw = [](const auto& v) { return Dhw{v[0], v[1], v[2]}; };
  p.in = dhw(r.in);
  p.out = dhw(r.out);
  p.kernel = dhw(r.kernel);
  p.stride = dhw(r.stride);
  p.dilation = dhw(r.dilation);
  p.padBefore = Dhw{r.pads[0], r.pads[2], r.pads[4]};
  p.padAfter = Dhw{r.pads[1], r.pads[3], r.pads[5]};
  return p;
}

bool isUnfilled(const AscendC::tiling::TConv3DBackpropInputTiling& tiling) {
  bool zero = true;
  describeInputTiling(tiling, [&](const char*, const auto& value) { zero = zero && value == 0; });
  return zero;
}
bool isUnfilled(const AscendC::tiling::TConv3DBpFilterTiling& tiling) {
  bool zero = true;
  describeFilterTiling(tiling, [&](const char*, const auto& value) { zero = zero && value == 0; });
  return zero;
}

std::int32_t initOutputFlagOf(const Problem& p, bool transpose) {
  const auto remainder = [&](int a) {
    return (p.in[a] + p.padBefore[a] + p.padAfter[a] - reach(p, a) - 1) % p.stride[a] > p.padAfter[a];
  };
  const bool inferred = transpose && (tail(p, 1) > 0 || head(p, 0) > 0);
  return remainder(0) || remainder(1) || p.stride.h > p.kernel.h || inferred || p.dilation.d > 1 ? 1 : 0;
}

void setProblemFields(InputTiling& t, const Problem& p, DType type) {
  setShared(t, p);
  const std::int64_t c0 = 32 / byteSize(type);
  const RealGroups g = realGroups(p.cin / p.groups, p.cout / p.groups, p.groups, c0);
  t.cout1 = u32(ceilDiv(p.cout, c0)), t.cin1 = u32(ceilDiv(p.cin, c0));
  t.cout1G = u32(ceilDiv(g.together * (p.cout / p.groups), c0)), t.cin1G = u32(g.blocksC);
  t.c0 = u32(c0);
  t.c0Bits = static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(c0)));
  t.group = u32(g.count);
  t.backpropPadTail = u32(tail(p, 0));
  t.backpropPadUp = u32(head(p, 1)), t.backpropPadDown = u32(tail(p, 1));
  t.backpropPadLeft = u32(head(p, 2)), t.backpropPadRight = u32(tail(p, 2));
  t.singleCoreGroup = t.singleCoreDin = t.singleCoreHo = t.baseD = t.baseBatch = t.baseGroup = t.stepBatch =
      t.stepGroup = 1;
  t.singleCoreBatch = 1;
  t.hf32Flag = isHf32(type) ? 1 : 0;
}

void setProblemFields(FilterTiling& t, const Problem& p, DType type) {
  setShared(t, p);
  const std::int64_t c0 = 32 / byteSize(type);
  const RealGroups g = realGroups(p.cin / p.groups, p.cout / p.groups, p.groups, c0);
  t.cin1G = u32(g.blocksC);
  t.cout1G = u32(ceilDiv(g.together * (p.cout / p.groups), c0));
  t.group = u32(p.groups);
  t.channelSize = u32(c0);
  t.m0 = 16, t.k0 = u32(c0), t.n0 = 16;
  t.singleCoreDk = t.singleCoreGroup = 1;
  t.singleCoreBatch = 1;
  t.hf32Flag = isHf32(type) ? 1 : 0;
}

void setPlanFields(InputTiling& t, const TilingPlan& plan) {
  setBlocks(t, plan.cube().tile);
  const std::int64_t taps = std::int64_t{t.dk} * t.hk * t.wk;
  t.singleCoreCout = u32(plan.cube().singleShape.k / taps);
  t.singleCoreCout1 = t.singleCoreCout / t.c0;
  t.singleCoreCin = static_cast<std::uint64_t>(plan.cube().singleShape.n);
  t.singleCoreCin1 = u32(plan.cube().singleShape.n / t.c0);
  t.singleCoreM = static_cast<std::uint64_t>(plan.cube().singleShape.m);
}

void setPlanFields(FilterTiling& t, const TilingPlan& plan) {
  setBlocks(t, plan.cube().tile);
  t.singleCoreCout = u32(plan.cube().singleShape.m);
  t.singleCoreHo = u32(plan.cube().singleShape.k / t.wo);
  t.singleCoreCin = static_cast<std::uint64_t>(plan.cube().singleShape.n) / (std::uint64_t{t.hk} * t.wk);
}

}  // namespace cubejit::ascendc
