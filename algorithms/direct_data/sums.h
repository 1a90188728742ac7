// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers that the costs of data gradients share: blocks, passes of taps, rows read again.
#pragma once

#include <array>
#include <cstdint>

#include "algorithms/kit/conv_view.h"

namespace cubejit {

/// Over all blocks and taps of the axes.
struct DataSums {
  double blocks = 0, passes = 0, rows = 0;  ///< blocks; (block, tap) pairs; rows those pairs cover
  double results = 0;
};

/// The sums of a data gradient's view; `block`: results of a block along D, H, W.
DataSums dataSums(const ConvView& v, const std::array<std::int64_t, 3>& block);

/// How many times over the operand's rows of a cache block of `panel` are read, because neighbours need them too.
double overlap(const ConvView& v, std::int64_t panel, int axis);

}  // namespace cubejit
