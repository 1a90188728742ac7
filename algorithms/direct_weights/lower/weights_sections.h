// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the steps that a weight gradient's kernel makes over a pattern of columns: which vectors are lanes, and which scalars or
// words of the other operand multiply them.
#pragma once

#include <cstdint>

#include "algorithms/direct_weights/lower/column_patterns.h"
#include "algorithms/kit/lower/operand.h"
#include "codegen/tile/contract.h"

namespace cubejit {

/// The accumulators of a kernel: (rows x taps) by vectors of lanes; kernelWidth: rows by vectors of (taps x channels).
struct TileOfSums {
  std::int64_t rows = 1, taps = 1, width = 16;  ///< width: channels of its lanes
  int lanes = 16;                               ///< of a vector
  Element vectorElement = Element::kF32;        ///< where the kernel reads them
  bool kernelWidth = false;                     ///< taps' channels lie side by side and are lanes together
  std::int64_t tapsApart() const { return kernelWidth ? 1 : taps; }  ///< taps that have vectors to themselves
  std::int64_t laneCount() const { return kernelWidth ? taps * width : width; }
  std::int64_t vectors() const { return (laneCount() + lanes - 1) / lanes; }
  LaneRange lanesOf(std::int64_t vector) const { return lanesUpTo(laneCount() - vector * lanes, lanes); }
};

/// Where a kernel finds its operands.
struct WeightOperands {
  const Pitches &big, &small;
  bool operandsTransposed = false;  ///< lanes are the small tensor's channels
  PixelPairs pairs = PixelPairs::kNone;
};

Section weightSection(const ConvView& view, const WeightOperands& operands, const ColumnPattern& pattern,
                      const TileOfSums& tile);

}  // namespace cubejit
