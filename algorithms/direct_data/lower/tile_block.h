// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what tiles make of a data gradient, and how dy comes into its panel. Leaves where panels lie to lower.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/direct_data/tiles.h"
#include "algorithms/kit/lower/blocked_axis.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/operand.h"

namespace cubejit {

/// What tiles make of a data gradient.
struct TileLayout {
  ZeroEnds rows, columns;    ///< of dy's panel
  bool severalRows = false;  ///< a tile has pixels of several rows, with the zeros between them; so has dx's panel
  std::int64_t taps = 1;     ///< along W whose channels a product sums up: they are no taps of the gradient any more
  std::int64_t pairs = 1;    ///< of a tap's sum
  PairProducts sum{1};       ///< the products of that sum; pairs of zeros are behind it in both panels
};
TileLayout layOutTiles(const DirectDataPlan& plan, DataGradient& g, std::array<AxisRelation, 3>& relation);

/// dy's panel of a cache block: rows of pixels with zeros between them and at their ends.
struct TilePanel {
  const Operand& operand;
  const std::array<BlockedAxis, 3>& axes;
  const TileLayout& tiles;
  std::array<int, 2> cacheAxis{};  ///< of D and H
  int lanes = 16;
  /// Where its first row begins; zeros beside a row are those of its neighbour, too.
  std::int64_t begin() const { return tiles.columns.behind * operand.pitch.w; }
};
/// The streams of the panel and of the tensor start where loadTiles() has them.
void placeStreams(ProgramBuilder& b, const TilePanel& panel);
/// Moves dy's rows into it, and zeros.
std::vector<Node> loadTiles(ProgramBuilder& b, const TilePanel& panel);

/// Cache blocks of an axis with other zeros at their ends are of other classes.
void tellZerosApart(BlockedAxis& axis, const ZeroEnds& zeros, std::int64_t positions);

}  // namespace cubejit
