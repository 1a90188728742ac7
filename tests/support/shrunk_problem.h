// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a problem is made small enough for a test without losing what is odd about it: strides, dilations, pads, remainders of
// rows and of blocks of channels stay.
#pragma once

#include "cubejit/problem.h"

namespace cubejit {

/// Extents are halved, the largest first, until a gradient has at most so many multiply-adds and no tensor more than so many
/// elements. A problem that is small enough is left as it is. Precondition: it is legal.
Problem shrunkProblem(Problem problem, double multiplyAdds, double elements);

}  // namespace cubejit
