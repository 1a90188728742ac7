// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a task works on as a matrix product, for people.
#pragma once

#include "algorithms/kit/conv_view.h"
#include "cubejit/mkn.h"

namespace cubejit {

/// dX: M = pixels of dx in `rows` rows (where there is one axis: pixels), K = channels of dy x taps, N = channels of dx.
inline Mkn dataShape(const Problem& core, std::int64_t rows) {
  const ConvView v = makeConvView(core, Pass::kDx);
  const TensorView &result = v.bigIsX ? v.big : v.small, &operand = v.bigIsX ? v.small : v.big;
  return Mkn{rows * (v.oneAxis ? 1 : result.extent.w), operand.channels * v.taps(), result.channels};
}

/// dW: M = channels of the small tensor, K = its pixels, N = channels of the big one x taps.
inline Mkn weightShape(const Problem& core) {
  const ConvView v = makeConvView(core, Pass::kDw);
  return Mkn{v.small.channels, v.batch * v.small.extent.volume(), v.big.channels * v.taps()};
}

}  // namespace cubejit
