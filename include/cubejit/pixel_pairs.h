// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which pixels begin a pair when a weight gradient's panel holds pairs of bf16 pixels: every one, or only those that
// dot products start from.
#pragma once

#include "cubejit/conv_view.h"

namespace cubejit {

/// Pixels of the tensor from one pair's first member to the next pair's. With one tap along W and no padding in front, columns
/// are always taken two by two from the first on, so that pairs need not overlap. Wide kernels start from every pixel, and plain
/// tensors are turned pixel by pixel: 1.
inline std::int64_t pairSpacing(const ConvView& v, bool big) {
  const TensorView& t = big ? v.big : v.small;
  const bool turned = !t.channelsLast && t.c0 == 0;
  const std::int64_t spacing = 2 * (big ? v.stride.w : 1);
  if (v.kernel.w != 1 || v.pad.w != 0 || turned || spacing > 16 || 16 % spacing != 0) return 1;
  if (v.line) return spacing == 2 ? spacing : 1;
  return t.extent.w % spacing == 0 ? spacing : 1;
}

}  // namespace cubejit
