// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which pixels of dy each part of a bias gradient sums: parts of nearly equal length, cut without regard to images.
// Leaves lanes and kernels to lower_bias.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/conv_view.h"

namespace cubejit {

/// Units (pixels, or vectors of pixels) that follow each other in memory.
struct BiasPiece {
  std::int64_t offset = 0;  ///< bytes, of one channel's first unit
  std::int64_t units = 0;
  bool endsImage = false;  ///< its last unit is the last one of its image's (plain tensors: it may be a partial vector)
  friend bool operator==(const BiasPiece& x, const BiasPiece& y) = default;
};

using BiasPart = std::vector<BiasPiece>;

/// Runs of `units` that lie `unitBytes` apart, one behind each offset, cut in at most `parts` parts; none is empty.
std::vector<BiasPart> cutRuns(const std::vector<std::int64_t>& offsets, std::int64_t units, std::int64_t unitBytes,
                              std::int64_t parts);

/// Where the runs of pixels of a tensor begin, each `pixels` long.
struct PixelRuns {
  std::vector<std::int64_t> offsets;
  std::int64_t pixels = 0;
};
PixelRuns pixelRuns(const TensorView& t, std::int64_t batch);

}  // namespace cubejit
