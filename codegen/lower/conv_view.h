// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides one view that ordinary and transposed convolutions share, so that each gradient is lowered once.
// Every convolution relates a `small` tensor (positions o) to a `big` one (positions i) by  i = o*stride + k*dilation - pad.
// Ordinary: big = x, small = y. Transposed: big = y, small = x. Weights are [small channel][big channel / groups][taps] in both.
#pragma once

#include <cstdint>

#include "codegen/tile/program.h"
#include "cubejit/problem.h"

namespace cubejit {

/// An activation tensor: extents and byte strides.
struct TensorView {
  std::int64_t channels = 1;  ///< per group
  Dhw extent;
  std::int64_t nStride = 0, cStride = 0, dStride = 0, hStride = 0, wStride = 0;
  bool channelsLast = false;  ///< cStride is one element
  std::int64_t bytes = 0;
  std::int64_t strideOf(int axis) const { return axis == 0 ? dStride : axis == 1 ? hStride : wStride; }
  std::int64_t groupStride() const { return channels * cStride; }
};

struct ConvView {
  std::int64_t batch = 1, groups = 1;
  TensorView big, small;
  Dhw kernel, stride, dilation, pad;  ///< pad before
  bool bigIsX = true;
  std::int64_t taps() const { return kernel.volume(); }
};

/// `lineOnH`: a 1D problem is presented with its axis on H (W = 1), so that it can be cut into slabs of rows.
ConvView makeConvView(const Problem& problem, bool lineOnH = false);

/// True if only W has extent, kernel or padding: the problem is a line.
bool isLine(const Problem& problem);

}  // namespace cubejit
