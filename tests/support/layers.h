// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the convolutions that tests make by saying their extents.
#pragma once

#include "cubejit/problem.h"

namespace cubejit {

/// An ordinary convolution, of as much padding before as after, whose results are all that the extents give.
inline Problem problemOf(std::int64_t batch, std::int64_t cin, std::int64_t cout, const Dhw& in, const Dhw& kernel,
                         const Dhw& pad, const Dhw& stride = {1, 1, 1}, const Dhw& dilation = {1, 1, 1}) {
  Problem p;
  p.batch = batch, p.cin = cin, p.cout = cout;
  p.in = in, p.kernel = kernel, p.stride = stride, p.dilation = dilation;
  p.padBefore = p.padAfter = pad;
  for (int axis = 0; axis < 3; ++axis)
    p.out[axis] = (in[axis] + 2 * pad[axis] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  return p;
}

/// The same as a problem of rank 2; `in`, `kernel` and the others have a depth of one.
inline Problem planeProblem(std::int64_t batch, std::int64_t cin, std::int64_t cout, const Dhw& in, const Dhw& kernel,
                            const Dhw& pad, const Dhw& stride = {1, 1, 1}) {
  Problem p = problemOf(batch, cin, cout, in, kernel, pad, stride);
  p.rank = 2;
  return p;
}

/// Planes of `size` x `size` pixels, padded so that an odd kernel gives as many results.
inline Problem squareProblem(std::int64_t batch, std::int64_t cin, std::int64_t cout, std::int64_t size,
                             std::int64_t kernel = 3) {
  return planeProblem(batch, cin, cout, {1, size, size}, {1, kernel, kernel}, {0, kernel / 2, kernel / 2});
}

inline Problem inLayout(Layout layout, Problem p) {
  p.layout = layout;
  return p;
}
inline Problem ofType(DType type, Problem p) {
  p.dtype = type;
  return p;
}
inline Problem ofGroups(std::int64_t groups, Problem p) {
  p.groups = groups;
  return p;
}

/// One tap, channels last.
inline Problem pointwise(std::int64_t cin, std::int64_t cout, std::int64_t side) {
  return squareProblem(4, cin, cout, side, 1);
}

/// A layer from the middle of a network: 64 channels to 64, 28 x 28 pixels.
inline Problem layer(Layout layout) { return inLayout(layout, squareProblem(4, 64, 64, 28)); }

}  // namespace cubejit
