// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what candidates, rules and costs of spatial plans see of a problem: residue classes along W, taps along H, rows that serve several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {

/// Residue classes of results along W, those that no tap reaches among them.
inline std::int64_t residuesOf(const ConvView& v) { return v.bigIsX ? std::min(v.stride.w, v.big.extent.w) : 1; }

struct SpatialView {
  ConvView view;
  TensorView result, operand;
  bool gather = true;
  std::vector<ResidueClass> residues;  ///< along W; none if spatial plans cannot do it
  std::int64_t longest = 0;            ///< pixels of the longest

  explicit SpatialView(const Problem& problem);
  AxisRelation relation(int axis) const;

  /// Whether operands, or `results`, begin or end within a vector of `lanes` pixels: kernels mask those.
  bool endsInVector(std::int64_t lanes, bool results) const;

  /// Pairs of a result row and a tap that lies inside, along an axis.
  std::int64_t insideTaps(int axis) const;

  /// Pairs of a result row and a tap along H that share an operand row, in a tile of `rows` result rows away from the borders.
  double usesOfRow(std::int64_t rows) const;
};

}  // namespace cubejit
