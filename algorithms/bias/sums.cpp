// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by what registers and displacements allow.
#include "algorithms/bias/sums.h"

#include <algorithm>

#include "algorithms/kit/range.h"

namespace cubejit {

// Channels lie between a plain tensor's images, and between planes of a blocked tensor's block.
RunBeginnings runBeginnings(const TensorView& t, std::int64_t batch) {
  const bool rows = t.denseRows(), planes = rows && t.c0 == 0 && t.dStride == t.extent.h * t.hStride,
             images = planes && t.channelsLast && t.nStride == t.extent.d * t.dStride;
  return {images ? 1 : batch, planes ? 1 : t.extent.d, rows ? 1 : t.extent.h};
}

BiasSums biasSums(const ConvView& v, const BiasPlan& plan, int lanes) {
  constexpr std::int64_t kSumsAtOnce = 8;                 // they hide the latency of an addition
  constexpr std::int64_t kReach = std::int64_t{1} << 30;  // of a displacement
  const TensorView& y = v.bigIsX ? v.small : v.big;
  const std::int64_t runs = runBeginnings(y, v.batch).count(),
                     pixels = v.batch * y.extent.volume() / std::max<std::int64_t>(1, runs);
  BiasSums sums;
  if (y.channelsLast || y.c0 > 0) {
    // A piece of a blocked tensor's block; where channels are last, blocks are as wide as the plan says.
    sums.block = y.c0 > 0 ? divisorAtMost(y.c0, kSumsAtOnce * lanes) : plan.registerVectors * lanes;
    const std::int64_t vectors = ceilDiv(std::min(sums.block, v.groups * y.channels), lanes);
    sums.side = std::max<std::int64_t>(1, std::min(kSumsAtOnce / std::max<std::int64_t>(1, vectors),
                                                   kReach / std::max<std::int64_t>(1, kBiasUnroll * y.wStride)));
    const std::int64_t together = sums.side * kBiasUnroll;  // what is left of a run goes to the first sum
    sums.steps = runs * (pixels / together * kBiasUnroll + pixels % together);
  } else {
    sums.side = std::clamp(kReach / std::max<std::int64_t>(1, y.cStride), std::int64_t{1}, kSumsAtOnce);
    sums.steps = runs * ceilDiv(pixels, lanes);
  }
  return sums;
}

}  // namespace cubejit
