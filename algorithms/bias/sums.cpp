// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by strides: runs are as long as pixels are equally far apart.
#include "algorithms/bias/sums.h"

#include <algorithm>

namespace cubejit {

// Channels lie between a plain tensor's images, and between planes of a blocked tensor's block.
RunBeginnings runBeginnings(const TensorView& t, std::int64_t batch) {
  const bool rows = t.denseRows(), planes = rows && t.c0 == 0 && t.dStride == t.extent.h * t.hStride,
             images = planes && t.channelsLast && t.nStride == t.extent.d * t.dStride;
  return {images ? 1 : batch, planes ? 1 : t.extent.d, rows ? 1 : t.extent.h};
}

PartialSums biasSums(const ConvView& v, int lanes) {
  const TensorView& y = v.bigIsX ? v.small : v.big;
  const std::int64_t runs = runBeginnings(y, v.batch).count(),
                     pixels = v.batch * y.extent.volume() / std::max<std::int64_t>(1, runs),
                     steps = runs * (y.plain() ? ceilDiv(pixels, lanes) : pixels);
  return {ceilDiv(steps, kLongestChain), std::min(steps, kLongestChain)};
}

}  // namespace cubejit
