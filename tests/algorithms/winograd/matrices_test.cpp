// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that the matrices of minimal filtering give the sums of the definition, and how far f32 transforms are from them.
#include "algorithms/winograd/matrices.h"

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
  for (std::int64_t r = 2; r <= 7; ++r) {
    for (std::int64_t m = 2; m + r - 1 <= 8; ++m) {
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

// Sums of random products in f32, against double; relative to the results' norm.
double measuredError(std::int64_t m, std::int64_t r) {
  const WinogradMatrices w = winogradMatrices(m, r);
  const std::int64_t points = m + r - 1, channels = 64;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  double error = 0, norm = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<float> product(static_cast<std::size_t>(points));
    std::vector<double> want(static_cast<std::size_t>(m));
    for (std::int64_t c = 0; c < channels; ++c) {
      std::vector<float> d(static_cast<std::size_t>(points)), g(static_cast<std::size_t>(r));
      for (float& v : d) v = normal(random);
      for (float& v : g) v = normal(random);
      for (std::int64_t k = 0; k < points; ++k) {
        float ofData = 0, ofTaps = 0;
        for (std::int64_t i = 0; i < points; ++i) ofData += w.data.at(k, i) * d[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; j < r; ++j) ofTaps += w.taps.at(k, j) * g[static_cast<std::size_t>(j)];
        product[static_cast<std::size_t>(k)] += ofData * ofTaps;
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < r; ++j) {
          want[static_cast<std::size_t>(i)] +=
              static_cast<double>(d[static_cast<std::size_t>(i + j)]) * g[static_cast<std::size_t>(j)];
        }
      }
    }
    for (std::int64_t i = 0; i < m; ++i) {
      float y = 0;
      for (std::int64_t k = 0; k < points; ++k) y += w.results.at(i, k) * product[static_cast<std::size_t>(k)];
      error += std::pow(y - want[static_cast<std::size_t>(i)], 2.0);
      norm += std::pow(want[static_cast<std::size_t>(i)], 2.0);
    }
  }
  return std::sqrt(error / norm);
}

TEST(WinogradMatrices, ErrorsGrowAsPredicted) {
  for (std::int64_t r = 2; r <= 7; ++r) {
    for (std::int64_t m = 2; m + r - 1 <= 8; ++m) {
      const double perGrowth = measuredError(m, r) / winogradErrorGrowth(m, r);
      EXPECT_GT(perGrowth, 1.0e-7) << "F(" << m << ", " << r << ")";
      EXPECT_LT(perGrowth, 2.5e-7) << "F(" << m << ", " << r << ")";
    }
  }
}

// A tap that is zero needs one point less: strided filters count on it.
TEST(WinogradMatrices, TheFirstPointIsOfTheFirstTapAndTheLastPointOfTheLast) {
  for (std::int64_t r = 2; r <= 5; ++r) {
    const WinogradMatrices w = winogradMatrices(3, r);
    for (std::int64_t j = 0; j < r; ++j) {
      EXPECT_EQ(w.taps.at(0, j) != 0.0F, j == 0);
      EXPECT_EQ(w.taps.at(w.taps.rows - 1, j) != 0.0F, j == r - 1);
    }
  }
}

TEST(WinogradMatrices, ReversedColumnsFilterFromTheOtherEnd) {
  const WinogradMatrices w = winogradMatrices(2, 3);
  WinogradMatrices reversed = w;
  reversed.taps = reversedColumns(w.taps);
  EXPECT_EQ(filtered(reversed, {3, -1, 4, 2}, {6, -7, 5}), filtered(w, {3, -1, 4, 2}, {5, -7, 6}));
}

}  // namespace
}  // namespace cubejit
