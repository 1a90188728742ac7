// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what candidates and costs of pixel lanes see of a problem: residue classes along W, taps along H, rows that serve several.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/axis_phases.h"
#include "algorithms/kit/conv_view.h"

namespace cubejit {

struct PixelGround {
  ConvView view;
  TensorView result, operand;
  bool gather = true;
  std::vector<AxisPhase> phases;  ///< along W; none if lanes of pixels cannot do it
  std::int64_t longest = 0;       ///< pixels of the longest

  explicit PixelGround(const Problem& problem);
  AxisRelation relation(int axis) const;

  /// Whether operands, or `results`, begin or end within a vector of `lanes` pixels: kernels mask those.
  bool endsInVector(std::int64_t lanes, bool results) const;

  /// Pairs of a result row and a tap that lies inside, along an axis.
  std::int64_t insideTaps(int axis) const;

  /// Pairs of a result row and a tap along H that share an operand row, in a tile of `rows` result rows away from the borders.
  double usesOfRow(std::int64_t rows) const;
};

}  // namespace cubejit
