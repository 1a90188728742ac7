// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the matrices are evaluated: in double, from the points, and rounded once.
#include "algorithms/winograd/matrices.h"

#include <array>
#include <cmath>

namespace cubejit {
namespace {

using Polynomial = std::vector<double>;  // coefficients, constant term first

// Times (x - root).
Polynomial timesRoot(const Polynomial& p, double root) {
  Polynomial out(p.size() + 1, 0.0);
  for (std::size_t i = 0; i < p.size(); ++i) {
    out[i + 1] += p[i];
    out[i] -= p[i] * root;
  }
  return out;
}

Matrix sized(std::int64_t rows, std::int64_t cols) {
  return Matrix{rows, cols, std::vector<float>(static_cast<std::size_t>(rows * cols), 0.0F)};
}

double squares(const Matrix& matrix, std::int64_t row) {
  double sum = 0;
  for (std::int64_t c = 0; c < matrix.cols; ++c) sum += std::pow(matrix.at(row, c), 2.0);
  return sum;
}

double errorGrowthOf(std::int64_t m, std::int64_t r) {
  const WinogradMatrices w = winogradMatrices(m, r);
  double sum = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = 0; k < w.data.rows; ++k)
      sum += std::pow(w.results.at(i, k), 2.0) * squares(w.taps, k) * squares(w.data, k);
  }
  return std::sqrt(sum / static_cast<double>(m * r));
}

void set(Matrix& matrix, std::int64_t r, std::int64_t c, double value) {
  matrix.values[static_cast<std::size_t>(r * matrix.cols + c)] = static_cast<float>(value);
}

}  // namespace

WinogradMatrices winogradMatrices(std::int64_t m, std::int64_t r) {
  static constexpr double kPoints[] = {0.0, 1.0, -1.0, 0.5, -2.0, -0.5, 2.0};
  const std::int64_t n = m + r - 1, finite = n - 1;  // the last point is infinity
  WinogradMatrices out{sized(m, n), sized(n, r), sized(n, n)};
  Polynomial all{1.0};
  for (std::int64_t k = 0; k < finite; ++k) all = timesRoot(all, kPoints[k]);
  for (std::int64_t k = 0; k < finite; ++k) {
    Polynomial others{1.0};
    double norm = 1.0;
    for (std::int64_t l = 0; l < finite; ++l) {
      if (l == k) continue;
      others = timesRoot(others, kPoints[l]);
      norm *= kPoints[k] - kPoints[l];
    }
    for (std::int64_t i = 0; i < m; ++i) set(out.results, i, k, std::pow(kPoints[k], static_cast<double>(i)));
    for (std::int64_t j = 0; j < r; ++j) set(out.taps, k, j, std::pow(kPoints[k], static_cast<double>(j)) / norm);
    for (std::int64_t i = 0; i < finite; ++i) set(out.data, k, i, others[static_cast<std::size_t>(i)]);
  }
  set(out.results, m - 1, finite, 1.0);
  set(out.taps, finite, r - 1, 1.0);
  for (std::int64_t i = 0; i < n; ++i) set(out.data, finite, i, all[static_cast<std::size_t>(i)]);
  return out;
}

std::array<WinogradMatrices, 3> winogradMatrices(const WinogradShape& s) {
  const auto& results = s.sumsTiles ? s.taps : s.tile;
  const auto& filter = s.sumsTiles ? s.tile : s.taps;
  return {winogradMatrices(results[0], filter[0]), winogradMatrices(results[1], filter[1]),
          winogradMatrices(results[2], filter[2])};
}

double winogradErrorGrowth(std::int64_t m, std::int64_t r) {
  constexpr std::size_t kSizes = kMostWinogradPoints + 1;
  using Table = std::array<std::array<double, kSizes>, kSizes>;
  static const Table kGrowth = [] {
    Table table{};
    for (std::size_t tile = 1; tile < kSizes; ++tile) {
      for (std::size_t taps = 1; tile + taps - 1 < kSizes; ++taps)
        table[tile][taps] = errorGrowthOf(static_cast<std::int64_t>(tile), static_cast<std::int64_t>(taps));
    }
    return table;
  }();
  return kGrowth[static_cast<std::size_t>(m)][static_cast<std::size_t>(r)];
}

double winogradErrorGrowth(const WinogradShape& s) {
  double growth = 1.0;
  for (std::size_t a = 0; a < 3; ++a) {
    // dW: the tile is the filter, taps are the results.
    if (s.taps[a] > 1)
      growth *= s.sumsTiles ? winogradErrorGrowth(s.taps[a], s.tile[a]) : winogradErrorGrowth(s.tile[a], s.taps[a]);
  }
  return growth;
}

}  // namespace cubejit
