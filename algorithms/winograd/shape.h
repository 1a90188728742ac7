// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers that rules, candidates and costs of Winograd plans share.
#pragma once

#include <array>
#include <cstdint>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/rates.h"
#include "cubejit/plan.h"

namespace cubejit {

/// More points make the transforms' coefficients so large that f32 sums lose most of their digits.
constexpr std::int64_t kMostWinogradPoints = 6;

struct WinogradShape {
  ConvView view;
  TensorView tiled;    ///< cut into tiles: dX: the result; dW: the small tensor
  TensorView patched;  ///< whose patches they meet: dX: dY; dW: the big tensor
  std::array<std::int64_t, 3> tile{}, points{};
  std::int64_t rows = 0;  ///< of tiles: images x depths x heights
  std::int64_t tilesOfRow = 0;
  std::int64_t volume() const { return points[0] * points[1] * points[2]; }
};

/// `Plan`: WinogradDataPlan or WinogradWeightsPlan.
template <class Plan>
WinogradShape winogradShape(const Problem& problem, const Plan& plan) {
  WinogradShape s;
  s.view = makeConvView(problem, Plan::kPass);
  const bool dx = Plan::kPass == Pass::kDx;
  const bool bigIsTiled = dx && s.view.bigIsX;
  s.tiled = bigIsTiled ? s.view.big : s.view.small;
  s.patched = bigIsTiled ? s.view.small : s.view.big;
  s.tile = {plan.tileD, plan.tileH, plan.tileW};
  std::array<std::int64_t, 3> tiles{};
  for (int a = 0; a < 3; ++a) {
    const auto i = static_cast<std::size_t>(a);
    s.points[i] = s.tile[i] + s.view.kernel[a] - 1;
    tiles[i] = divUp(s.tiled.extent[a], s.tile[i]);
  }
  s.rows = s.view.batch * tiles[0] * tiles[1];
  s.tilesOfRow = tiles[2];
  return s;
}

/// dW: what is summed at each point, a product for every tile.
inline PartialSums pointSums(const WinogradShape& s, const WinogradWeightsPlan& plan) {
  const std::int64_t rows = std::max<std::int64_t>(1, plan.bufferC ? s.rows : std::min(plan.cacheRows, s.rows));
  return {divUp(s.rows, rows), rows * s.tilesOfRow};
}

}  // namespace cubejit
