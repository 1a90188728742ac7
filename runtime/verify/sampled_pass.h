// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the right value of single results of a pass, for problems whose whole reference would take too long.
// Each element is gathered from the formula that defines it, apart from the loops of reference_conv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cubejit/problem.h"

namespace cubejit {

struct SampledElement {
  std::size_t index = 0;  ///< in the tensor of results, in the problem's layout
  double value = 0;
  double bound = 0;  ///< sum of |products|, as in ReferenceResults
};

/// The first, the last and random results of one pass, as many as `multiplyAdds` allow, at least 16 (or all there are).
/// Half of the random ones lie at the edges of the image, where taps are cut off.
std::vector<SampledElement> sampledPass(const Problem& problem, Pass pass, double multiplyAdds, std::uint64_t seed,
                                        const std::vector<float>& dy, const std::vector<float>& x,
                                        const std::vector<float>& w);

}  // namespace cubejit
