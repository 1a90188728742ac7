// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers that rules, candidates and costs of Winograd plans share.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/range.h"
#include "algorithms/kit/rates.h"
#include "cubejit/plan.h"

namespace cubejit {

/// There are matrices for so many points along an axis.
constexpr std::int64_t kMostWinogradPoints = 8;
/// Each residue of the strides is transformed by loops of its own.
constexpr std::int64_t kMostResidues = 8;

struct WinogradShape {
  ConvView view;
  bool gather = false;     ///< the tiled tensor is the big one
  bool sumsTiles = false;  ///< dW: tiles are summed over, taps are results
  TensorView tiled;        ///< cut into tiles: dX: the result; dW: the small tensor
  TensorView patched;      ///< whose patches they meet: dX: dY; dW: the big tensor
  /// Along d, h, w: taps of a residue, the most; elements of a tile, points; tiles; what the first tile begins with is number `begin` of its
  /// residue's positions (residuesOf).
  std::array<std::int64_t, 3> taps{}, tile{}, points{}, tiles{}, begin{};
  std::int64_t residues = 1;
  std::int64_t rows = 0;  ///< of tiles: images x depths x heights
  std::int64_t tilesOfRow = 0;
  std::int64_t volume() const { return points[0] * points[1] * points[2]; }
  /// How many residues the tiles have, and the patches.
  std::int64_t tiledResidues() const { return gather ? residues : 1; }
  std::int64_t patchedResidues() const { return gather ? 1 : residues; }
  /// Points of all residues: one that has a tap less along an axis has a point less.
  std::int64_t pointsOfResidues() const {
    std::int64_t all = 1;
    for (int a = 0; a < 3; ++a) {
      const auto i = static_cast<std::size_t>(a);
      all *= view.stride[a] * points[i] - (view.stride[a] * taps[i] - view.kernel[a]);
    }
    return all;
  }
};

/// `Plan`: WinogradDataPlan or WinogradWeightsPlan.
template <class Plan>
WinogradShape winogradShape(const Problem& problem, const Plan& plan) {
  WinogradShape s;
  s.view = makeConvView(problem, Plan::kPass, OneAxis::kOnH);  // tasks are cut between rows of tiles
  const bool dx = Plan::kPass == Pass::kDx;
  s.gather = dx && s.view.bigIsX;
  s.sumsTiles = !dx;
  s.tiled = s.gather ? s.view.big : s.view.small;
  s.patched = s.gather ? s.view.small : s.view.big;
  s.tile = {plan.tileD, plan.tileH, plan.tileW};
  for (int a = 0; a < 3; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const std::int64_t stride = s.view.stride[a], pad = s.view.pad[a];
    s.taps[i] = divUp(s.view.kernel[a], stride);
    s.points[i] = s.tile[i] + s.taps[i] - 1;
    s.begin[i] = s.gather ? pad / stride : 0;
    const std::int64_t end = s.gather ? divUp(s.tiled.extent[a] + pad, stride) : s.tiled.extent[a];
    s.tiles[i] = divUp(end - s.begin[i], s.tile[i]);
    s.residues *= stride;
  }
  s.rows = s.view.batch * s.tiles[0] * s.tiles[1];
  s.tilesOfRow = s.tiles[2];
  return s;
}

/// Bytes of the panel in which transforms see what a row of tiles has of the tensor (of its patches); 0: they see the tensor.
inline std::int64_t panelBytes(const WinogradShape& s, bool patches) {
  const TensorView& t = patches ? s.patched : s.tiled;
  const std::array<std::int64_t, 3>& elements = patches ? s.points : s.tile;
  return t.direct() ? 0 : elements[0] * elements[1] * t.extent.w * t.channels * 4;
}

/// A strided convolution is several of stride 1: positions of the big tensor (counted with its padding) that agree modulo the stride meet the
/// taps that agree with them.
///   big position stride * (o + j) + first - pad   meets   small position o   with tap   stride * j + first,   j < taps
struct Residue {
  std::array<std::int64_t, 3> first{}, taps{};
  int shortAxes = 0;  ///< bit a: it has a tap less than others along axis a
};

inline std::vector<Residue> residuesOf(const WinogradShape& s) {
  std::vector<Residue> residues{Residue{}};
  for (int a = 0; a < 3; ++a) {
    const auto i = static_cast<std::size_t>(a);
    std::vector<Residue> longer;
    for (const Residue& of : residues) {
      for (std::int64_t q = 0; q < s.view.stride[a]; ++q) {
        Residue r = of;
        r.first[i] = q;
        r.taps[i] = divUp(s.view.kernel[a] - q, s.view.stride[a]);
        if (r.taps[i] < s.taps[i]) r.shortAxes |= 1 << a;
        longer.push_back(r);
      }
    }
    residues = std::move(longer);
  }
  return residues;
}

/// The point that residues of a tap less do not need: their filter is zero there. Point 0 sees the first tap only, the last one (infinity) the last;
/// where results are gathered, taps are in reverse order.
inline std::int64_t droppedPoint(const WinogradShape& s, std::size_t axis) { return s.gather ? 0 : s.points[axis] - 1; }
inline Range pointRange(const WinogradShape& s, const Residue& residue, std::size_t axis) {
  const std::int64_t dropped = (residue.shortAxes >> axis) & 1;
  return s.gather ? Range{dropped, s.points[axis]} : Range{0, s.points[axis] - dropped};
}

/// dW: what is summed at each point, a product for every tile.
inline PartialSums pointSums(const WinogradShape& s, const WinogradWeightsPlan& plan) {
  const std::int64_t rows = std::max<std::int64_t>(1, plan.bufferC ? s.rows : std::min(plan.cacheRows, s.rows));
  return {divUp(s.rows, rows), rows * s.tilesOfRow};
}

}  // namespace cubejit
