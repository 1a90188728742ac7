// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where runs of pixels of dy begin, and how long the sums of db are.
#pragma once

#include <cstdint>

#include "algorithms/kit/chains.h"
#include "algorithms/kit/conv_view.h"

namespace cubejit {

/// Images, planes of each and rows of each that begin a run of pixels which are equally far apart.
struct RunBeginnings {
  std::int64_t images = 1, planes = 1, rows = 1;
  std::int64_t count() const { return images * planes * rows; }  ///< no more than elements
};
RunBeginnings runBeginnings(const TensorView& t, std::int64_t batch);

/// The additions to one sum, of all parts: of a channel, or of a lane of pixels of one.
PartialSums biasSums(const ConvView& view, int lanes);

}  // namespace cubejit
