// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that index maps are the published formulas, spelled out here a second time.
#include "cubejit/index_map.h"

#include <gtest/gtest.h>

#include <random>

#include "tiling/coordinates.h"

namespace cubejit {
namespace {

TEST(IndexMap, BlockedActivations) {
  Problem p;
  p.batch = 3;
  p.cin = 37;
  p.in = {2, 5, 7};
  p.dtype = DType::kF16;
  p.layout = Layout::kNdc1hwc0;
  const IndexMap map = indexMap(p, TensorId::kX);
  const std::int64_t c0 = 16, c1 = 3;
  EXPECT_EQ(map.elements, 3 * 2 * c1 * 5 * 7 * c0);
  EXPECT_TRUE(map.padded);
  for (const std::int64_t c : {0, 15, 16, 36}) {
    EXPECT_EQ(map.at({2, c, 1, 4, 6}), ((((2 * 2 + 1) * c1 + c / c0) * 5 + 4) * 7 + 6) * c0 + c % c0);
  }
}

TEST(IndexMap, FractalWeights) {
  Problem p;
  p.cin = 20;
  p.cout = 40;
  p.kernel = {2, 3, 3};
  p.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF32, Layout::kFractalZ3d, {}};
  const IndexMap map = indexMap(p, TensorId::kW);
  const std::int64_t c0 = 8, c1 = 3, n1 = 3;
  EXPECT_EQ(map.elements, 2 * c1 * 9 * n1 * 16 * c0);
  const std::int64_t n = 33, c = 19, d = 1, h = 2, w = 0;
  EXPECT_EQ(map.at({n, c, d, h, w}),
            (((((d * c1 + c / c0) * 3 + h) * 3 + w) * n1 + n / 16) * 16 + n % 16) * c0 + c % c0);
}

// The table of real groups of the TBE documentation: fmap_c, cout, groups -> real_g, mag_factor, cin1_g, cout_g.
TEST(IndexMap, RealGroups) {
  const std::int64_t rows[][7] = {
      {16, 16, 1, 1, 1, 1, 16},       {3, 64, 1, 1, 1, 1, 64},    {1152, 4, 1, 1, 1, 72, 16},
      {32, 64, 2, 2, 1, 1, 32},       {96, 48, 3, 3, 1, 2, 16},   {128, 128, 128, 8, 16, 1, 16},
      {320, 320, 320, 20, 16, 1, 16}, {20, 20, 20, 2, 16, 1, 16}, {40, 40, 5, 3, 2, 1, 16},
      {12, 12, 4, 1, 4, 1, 16},       {24, 36, 3, 1, 3, 2, 48},   {78, 28, 2, 1, 2, 5, 32}};
  for (const auto& r : rows) {
    const RealGroups g = realGroups(r[0] / r[2], r[1] / r[2], r[2], 16);
    EXPECT_EQ(g.count, r[3]) << r[0];
    EXPECT_EQ(g.together, r[4]) << r[0];
    EXPECT_EQ(g.blocksC, r[5]) << r[0];
    EXPECT_EQ(g.blocksN * 16, r[6]) << r[0];
  }
}

TEST(IndexMap, GroupedFractalWeightsKeepGroupsOnTheDiagonal) {
  Problem p;
  p.groups = 5;
  p.cin = p.cout = 40;
  p.dtype = DType::kF16;
  p.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF16, Layout::kFractalZ3d, {}};
  const IndexMap map = indexMap(p, TensorId::kW);  // two groups of 8 share a real group of 16
  EXPECT_EQ(map.elements, 3 * 16 * 16);
  for (std::int64_t q = 0; q < 5; ++q) {
    const std::int64_t g = q / 2, r = q % 2;
    EXPECT_EQ(map.at({q * 8 + 3, q * 8 + 5, 0, 0, 0}), (g * 16 + r * 8 + 3) * 16 + r * 8 + 5) << q;
  }
}

TEST(Coordinates, AreTheIndexMapReadBackwards) {
  std::mt19937_64 random(5);
  Problem p;
  p.batch = 2;
  p.groups = 2;
  p.cin = 20;
  p.cout = 12;
  p.in = {3, 4, 5};
  p.kernel = {2, 3, 3};
  p.out = {2, 2, 3};
  for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0}) {
    p.layout = layout;
    for (const TensorId tensor : {TensorId::kX, TensorId::kDy, TensorId::kW, TensorId::kDb}) {
      const IndexMap map = indexMap(p, tensor);
      const TensorAxes axes = axesOf(p, tensor);
      for (int i = 0; i < 200; ++i) {
        Coordinates at{};
        for (std::size_t a = 0; a < kCoordinates; ++a)
          at[a] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(axes.extent[a]));
        const auto found = elementAt(p, tensor, map.at(at) * 4);
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(*found, at);
      }
      EXPECT_FALSE(elementAt(p, tensor, -4).has_value());
      EXPECT_FALSE(elementAt(p, tensor, 2).has_value());
      EXPECT_FALSE(elementAt(p, tensor, formatBytes(p, tensor)).has_value());
    }
  }
}

}  // namespace
}  // namespace cubejit
