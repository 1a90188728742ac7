// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which planes and rows of the big tensor a weight gradient has to look at. Columns are left to panels (pixel_pairs.h).
#pragma once

#include "algorithms/kit/conv_view.h"

namespace cubejit {

/// With one tap along D or H only every stride-th plane or row is read: the view in which those are all there is. Rows (planes) of
/// its big tensor need not follow each other. Channels-last only: elsewhere a row's pixels are moved as blocks with its neighbours',
/// and rows alone took longer than the pixels between them (0.93 to 0.98 of the speed with strides of two).
inline ConvView condensed(ConvView v) {
  if (v.oneAxis || !v.big.channelsLast) return v;
  for (const int axis : {0, 1}) {
    const bool inside = (v.small.extent[axis] - 1) * v.stride[axis] < v.big.extent[axis];
    if (v.kernel[axis] != 1 || v.pad[axis] != 0 || v.stride[axis] == 1 || !inside) continue;
    (axis == 0 ? v.big.dStride : v.big.hStride) *= v.stride[axis];
    v.big.extent[axis] = v.small.extent[axis];
    v.stride[axis] = 1;
  }
  return v;
}

/// Whether rows follow each other, so that many of them are one.

}  // namespace cubejit
