// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the matrices of Winograd's minimal filtering F(m, r): m results of r taps by m + r - 1 products instead of m * r.
//   y[i] = sum over j of d[i + j] * g[j]   =   A ( (G g) * (B d) )        i < m, j < r, products element by element
// They come from the points 0, 1, -1, 1/2, -2, -1/2, 2 and infinity, as many as needed, by the construction of Toom and Cook
// (Lavin and Gray, arXiv:1509.09308; the points: Barabasz, Anderson, Soodhalter and Gregg, arXiv:1803.10986).
// Leaves how they are applied to linear_transforms.
#pragma once

#include <array>
#include <cstdint>

#include "algorithms/kit/matrix.h"
#include "algorithms/winograd/shape.h"

namespace cubejit {

struct WinogradMatrices {
  Matrix results;  ///< A: m x (m + r - 1), of products
  Matrix taps;     ///< G: (m + r - 1) x r, of the filter
  Matrix data;     ///< B: (m + r - 1) square
};

/// Precondition: m, r >= 1 and m + r - 1 <= kMostWinogradPoints (shape.h).
WinogradMatrices winogradMatrices(std::int64_t m, std::int64_t r);
/// Those of a plan's tiles along d, h, w: F(tile, taps); of dW F(taps, tile), as tiles are its filter and taps its results.
std::array<WinogradMatrices, 3> winogradMatrices(const WinogradShape& s);

/// How much larger the rounding errors of independent products are in the results, relative to them, than if a result were their plain sum:
/// the root mean square over results of |A| |G| |B|, norms of rows. The growths of several axes multiply. Measured in f32, a gradient's
/// error was 1.5e-7 to 1.8e-7 times the growth, relative to its L2 norm (64 channels, one to three axes, every F of up to eight points).
/// Preconditions as above; each is computed once.
double winogradErrorGrowth(std::int64_t m, std::int64_t r);
/// The growth that a plan's tiles have, the product over all axes. Precondition: no axis has more than kMostWinogradPoints points.
double winogradErrorGrowth(const WinogradShape& s);

/// What plans may have: errors of up to 5e-6 of a gradient's L2 norm in f32, a quarter of what benchdnn allows.
constexpr double kMostErrorGrowth = 25.0;

}  // namespace cubejit
