// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that the matrices of minimal filtering give the sums of the definition, and how far f32 transforms are from them.
#include "algorithms/winograd/lower/matrices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cubejit {
namespace {

// y = A ((G g) * (B d)), in double.
std::vector<double> filtered(const WinogradMatrices& w, const std::vector<double>& d, const std::vector<double>& g) {
  const std::int64_t points = w.data.rows;
  std::vector<double> product(static_cast<std::size_t>(points)), y(static_cast<std::size_t>(w.results.rows));
  for (std::int64_t k = 0; k < points; ++k) {
    double ofData = 0, ofTaps = 0;
    for (std::int64_t i = 0; i < points; ++i) ofData += w.data.at(k, i) * d[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < w.taps.cols; ++j) ofTaps += w.taps.at(k, j) * g[static_cast<std::size_t>(j)];
    product[static_cast<std::size_t>(k)] = ofData * ofTaps;
  }
  for (std::int64_t i = 0; i < w.results.rows; ++i) {
    for (std::int64_t k = 0; k < points; ++k)
      y[static_cast<std::size_t>(i)] += w.results.at(i, k) * product[static_cast<std::size_t>(k)];
  }
  return y;
}

TEST(WinogradMatrices, GiveTheSumsOfTheDefinition) {
  std::mt19937 random(1);
  for (std::int64_t r = 2; r <= 5; ++r) {
    for (std::int64_t m = 2; m + r - 1 <= 6; ++m) {
      const WinogradMatrices w = winogradMatrices(m, r);
      ASSERT_EQ(w.results.rows, m);
      ASSERT_EQ(w.data.rows, m + r - 1);
      std::vector<double> d(static_cast<std::size_t>(m + r - 1)), g(static_cast<std::size_t>(r));
      for (double& v : d) v = static_cast<double>(random() % 17) - 8;
      for (double& v : g) v = static_cast<double>(random() % 17) - 8;
      const std::vector<double> y = filtered(w, d, g);
      for (std::int64_t i = 0; i < m; ++i) {
        double want = 0;
        for (std::int64_t j = 0; j < r; ++j)
          want += d[static_cast<std::size_t>(i + j)] * g[static_cast<std::size_t>(j)];
        EXPECT_NEAR(y[static_cast<std::size_t>(i)], want, 1e-4) << "F(" << m << ", " << r << ")";  // 1/3 in f32
      }
    }
  }
}

TEST(WinogradMatrices, TwoByThreeIsExact) {
  const WinogradMatrices w = winogradMatrices(2, 3);
  const std::vector<double> y = filtered(w, {3, -1, 4, 2}, {5, -7, 6});
  EXPECT_EQ(y, (std::vector<double>{3 * 5 + 7 + 24, -5 - 28 + 12}));
}

TEST(WinogradMatrices, ReversedColumnsFilterFromTheOtherEnd) {
  const WinogradMatrices w = winogradMatrices(2, 3);
  WinogradMatrices reversed = w;
  reversed.taps = reversedColumns(w.taps);
  EXPECT_EQ(filtered(reversed, {3, -1, 4, 2}, {6, -7, 5}), filtered(w, {3, -1, 4, 2}, {5, -7, 6}));
}

}  // namespace
}  // namespace cubejit
