// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the matrices of Winograd's minimal filtering F(m, r): m results of r taps by m + r - 1 products instead of m * r.
//   y[i] = sum over j of d[i + j] * g[j]   =   A ( (G g) * (B d) )        i < m, j < r, products element by element
// They come from the points 0, 1, -1, 1/2, -2 and infinity, as many as needed, by the construction of Toom and Cook
// (Lavin and Gray, arXiv:1509.09308; the points: Barabasz, Anderson, Soodhalter and Gregg, arXiv:1803.10986).
// Leaves how they are applied to linear_transforms.
#pragma once

#include <cstdint>

#include "algorithms/kit/lower/linear_transforms.h"

namespace cubejit {

struct WinogradMatrices {
  Matrix results;  ///< A: m x (m + r - 1), of products
  Matrix taps;     ///< G: (m + r - 1) x r, of the filter
  Matrix data;     ///< B: (m + r - 1) square
};

/// Precondition: m, r >= 1 and m + r - 1 <= kMostWinogradPoints.
WinogradMatrices winogradMatrices(std::int64_t m, std::int64_t r);

}  // namespace cubejit
