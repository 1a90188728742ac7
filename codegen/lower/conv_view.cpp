// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the strides of the two activation tensors in the shared view; leaves addresses of weights to the lowerings.
#include "codegen/lower/conv_view.h"


namespace cubejit {
namespace {

TensorView makeTensor(std::int64_t batch, std::int64_t channels, std::int64_t groups, const Dhw& extent, Layout layout,
                      std::int64_t elementBytes) {
  TensorView t;
  t.channels = channels / groups;
  t.extent = extent;
  t.channelsLast = layout == Layout::kNdhwc;
  const std::int64_t inner = t.channelsLast ? channels * elementBytes : elementBytes;
  t.cStride = t.channelsLast ? elementBytes : extent.volume() * elementBytes;
  t.wStride = inner;
  t.hStride = extent.w * inner;
  t.dStride = extent.h * t.hStride;
  t.nStride = channels * extent.volume() * elementBytes;
  t.bytes = batch * t.nStride;
  return t;
}

void moveLineToH(Dhw& v, std::int64_t neutral) {
  v.h = v.w;
  v.w = neutral;
}

}  // namespace

bool isLine(const Problem& p) {
  return p.in.d == 1 && p.in.h == 1 && p.out.d == 1 && p.out.h == 1 && p.kernel.d == 1 && p.kernel.h == 1 &&
         p.padBefore.d == 0 && p.padBefore.h == 0;
}

ConvView makeConvView(const Problem& p, bool lineOnH) {
  ConvView v;
  v.batch = p.batch;
  v.groups = p.groups;
  v.kernel = p.kernel;
  v.stride = p.stride;
  v.dilation = p.dilation;
  v.pad = p.padBefore;
  v.bigIsX = !p.transposed;
  Dhw in = p.in, out = p.out;
  if (lineOnH && isLine(p)) {
    for (Dhw* extent : {&in, &out, &v.kernel, &v.stride, &v.dilation}) moveLineToH(*extent, 1);
    moveLineToH(v.pad, 0);
  }
  const std::int64_t bytes = byteSize(p.dtype);
  const TensorView x = makeTensor(p.batch, p.cin, p.groups, in, p.layout, bytes);
  const TensorView y = makeTensor(p.batch, p.cout, p.groups, out, p.layout, bytes);
  v.big = v.bigIsX ? x : y;
  v.small = v.bigIsX ? y : x;
  return v;
}

}  // namespace cubejit
