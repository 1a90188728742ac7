// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides buffer bytes from a plan's extents; all formulas are closed, because a search asks thousands of times.
#include "algorithms/cube/footprint.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tiling/rounding.h"

namespace cubejit {
namespace {

// The most units that a run of `length` touches when runs follow one another from the start of a unit.
std::int64_t unitsTouched(std::int64_t length, std::int64_t unit) {
  constexpr std::int64_t kEndless = std::int64_t{1} << 60;
  if (length % unit == 0) return std::min(length, kEndless) / unit;
  return ceilDiv(unit - std::gcd(length, unit) + std::min(length, kEndless), unit);
}

UnfoldedPiece pieceOf(const CubeWork& w, std::int64_t pixels, std::int64_t taskPixels, std::int64_t along,
                      std::int64_t taskAlong) {
  UnfoldedPiece piece;
  const std::int64_t taskRows = std::max<std::int64_t>(1, taskPixels / w.row());
  const std::int64_t rows = taskRows == 1 ? 1 : std::min(taskRows, unitsTouched(pixels, w.row()));
  const std::int64_t run = std::min(pixels, w.row());
  const bool whole = w.wholeRows() || taskRows > 1;
  const std::int64_t reachH = (w.kernel.h - 1) * w.dilation.h, reachW = (w.kernel.w - 1) * w.dilation.w;
  if (w.spread) {
    const std::int64_t height = (w.image.h - 1) * w.stride.h + 1, width = (w.image.w - 1) * w.stride.w + 1;
    piece.rows = std::min(rows + reachH, height);
    piece.columns = whole ? width : std::min(run + reachW, width);
    piece.rowsRead = std::min(w.image.h, ceilDiv(piece.rows, w.stride.h));
    piece.columnsRead = std::min(w.image.w, ceilDiv(piece.columns, w.stride.w));
  } else {
    piece.rows = piece.rowsRead = std::min((rows - 1) * w.stride.h + reachH + 1, w.image.h);
    piece.columns = piece.columnsRead = whole ? w.image.w : std::min((run - 1) * w.stride.w + reachW + 1, w.image.w);
  }
  piece.blocks = std::min(ceilDiv(taskAlong, w.blockUnit()), unitsTouched(along, w.blockUnit()));
  return piece;
}

// Rows or columns of a base block, with those that fill its last fractal up.
std::int64_t wholeFractals(std::int64_t extent) {
  return extent > std::numeric_limits<std::int64_t>::max() - 16 ? extent : roundUp(extent, 16);
}

}  // namespace

CubeFootprint footprintOf(const CubeWork& w, const TilingPlan& plan) {
  const CubeTile& t = plan.cube().tile;
  const auto product = [](std::initializer_list<std::int64_t> factors) {
    std::int64_t result = 1;
    for (const std::int64_t factor : factors) result = saturatingProduct(result, factor);
    return result;
  };
  CubeFootprint f;
  const std::int64_t m = wholeFractals(t.base.m), n = wholeFractals(t.base.n);
  f.l0a = product({m, t.base.k, w.elementBytes, t.buffersL0a});
  f.l0b = product({t.base.k, n, w.elementBytes, t.buffersL0b});
  f.l0c = product({m, n, 4, t.buffersL0c});
  f.ub = product({m, 16, 4 + w.resultBytes, 2});
  const bool dx = w.pass == Pass::kDx;
  const std::int64_t l1KA = product({t.stepKa, t.base.k}), l1KB = product({t.stepKb, t.base.k});
  const std::int64_t sideM = product({t.stepM, t.base.m}), sideN = product({t.stepN, t.base.n});
  f.piece = dx ? pieceOf(w, sideM, plan.cube().singleShape.m, l1KA, plan.cube().singleShape.k / w.kernel.d)
               : pieceOf(w, l1KB, plan.cube().singleShape.k, sideN, plan.cube().singleShape.n);
  const std::int64_t unfolded = product({f.piece.rows, f.piece.columns, f.piece.blocks, w.c0, w.elementBytes});
  f.l1A = dx ? unfolded : product({sideM, l1KA, w.elementBytes});
  f.l1B = dx ? product({sideN, l1KB, w.elementBytes}) : unfolded;
  const std::int64_t a = product({f.l1A, t.buffersA1}), b = product({f.l1B, t.buffersB1});
  f.l1 = a > std::numeric_limits<std::int64_t>::max() - b ? std::numeric_limits<std::int64_t>::max() : a + b;
  return f;
}

}  // namespace cubejit
