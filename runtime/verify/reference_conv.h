// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the right results are: naive loops in double, to be checked by eye.
#pragma once

#include <vector>

#include "cubejit/problem.h"

namespace cubejit {

struct ReferenceResults {
  std::vector<double> dx, dw, db, y;  ///< in the problem's layout
  std::vector<double> dxBound, dwBound, dbBound,
      yBound;  ///< per element, sum of |products|: times n*2^-24 it bounds the rounding error
};

/// `mask` says which passes to compute; the others stay empty. Tensors in the problem's layout.
ReferenceResults referenceResults(const Problem& problem, PassMask mask, const std::vector<float>& dy,
                                  const std::vector<float>& x, const std::vector<float>& w);

/// Multiply-adds whose taps fall inside the tensors (padding not counted).
double insideMultiplyAdds(const Problem& problem);

/// Flops of a pass: 2 per multiply-add that falls inside; db: one per element of dy.
double passFlops(const Problem& problem, Pass pass);

}  // namespace cubejit
