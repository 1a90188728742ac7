// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what transforms share and that they fit the registers, and that products cover every step of their reduction. What
// whole transforms compute is asked where they are used.
#include "algorithms/kit/lower/linear_transforms.h"

#include <gtest/gtest.h>

#include "algorithms/kit/lower/point_product.h"
#include "algorithms/kit/lower/tile_box.h"

namespace cubejit {
namespace {

TEST(LinearPasses, CoefficientsAreStoredOnce) {
  ProgramBuilder b("test");
  b.beginPhase("only");
  PassRoom room(b);
  room.coefficients();
  const Matrix data{2, 3, {1, 0, -1, 0, 1, 1}}, taps{2, 2, {1, 2, 3, 4}};
  const std::int64_t first = room.place(data), second = room.place(taps);
  EXPECT_EQ(room.place(data), first);
  EXPECT_EQ(second, first + 4 * static_cast<std::int64_t>(data.values.size()));
}

TEST(LinearPasses, VectorsAtOnceFitTheRegisters) {
  PassAxis axis;
  axis.matrix = {6, 6, std::vector<float>(36)};  // six rows: seven registers a vector, one for the coefficient
  EXPECT_EQ(passVectors({axis}, 32, 4), 4);
  EXPECT_EQ(passVectors({axis}, 13, 4), 1);
  EXPECT_EQ(passVectors({axis}, 16, 4), 2);
}

TEST(Tiles, ClassesSayWhatExists) {
  const TileAxis axis = makeTileAxis(4, 3, 10, {0, 1, 10}, {-1, 1, 10});  // 0-3, 4-7, 8-9 of ten, padded by one
  ASSERT_EQ(axis.tiles(), 3);
  const auto at = [&](std::size_t tile) { return axis.classes[static_cast<std::size_t>(axis.classOf[tile])]; };
  EXPECT_EQ(at(0), (TileClass{{1, 6}, {0, 4}}));
  EXPECT_EQ(at(1), (TileClass{{0, 6}, {0, 4}}));
  EXPECT_EQ(at(2), (TileClass{{0, 3}, {0, 2}}));
}

TEST(Tiles, PatchesOutsideTheTensorAreEmpty) {
  const TileAxis axis = makeTileAxis(2, 2, 4, {0, 1, 4}, {9, 1, 6});  // starts nine positions into a tensor of six
  ASSERT_EQ(axis.tiles(), 2);
  for (const TileClass& c : axis.classes) EXPECT_EQ(c.patch.lo, c.patch.hi);
}

TEST(Tiles, ElementsAreEveryStridethPosition) {
  const Elements odd{-1, 2, 7};  // -1, 1, 3, 5, 7 ..
  EXPECT_EQ(odd.existing(), (Range{1, 4}));
  const TileAxis axis = makeTileAxis(2, 2, 4, odd, {0, 2, 7});  // tiles of two of them, patches of three even ones
  ASSERT_EQ(axis.tiles(), 2);
  const auto at = [&](std::size_t tile) { return axis.classes[static_cast<std::size_t>(axis.classOf[tile])]; };
  EXPECT_EQ(at(0), (TileClass{{0, 3}, {1, 2}}));
  EXPECT_EQ(at(1), (TileClass{{0, 2}, {0, 2}}));
}

TEST(PointProduct, ListsCoverEveryStep) {
  const PointProduct product{3, 2, 16, 4, 64, 4, 128};
  const Contract kernel = productKernel(product);
  EXPECT_EQ(kernel.accumulators.size(), 6U);
  for (const std::int64_t steps : {1, 3, 4, 7, 12}) {
    const SegmentList list = productList(product, steps);
    std::int64_t covered = 0;
    for (std::size_t s = 0; s < list.size(); ++s) {
      for (const Segment& segment : list[s]) {
        EXPECT_EQ(segment.aOffset, covered * product.aStep);
        EXPECT_EQ(segment.bOffset, covered * product.bStep);
        covered += segment.outer * static_cast<std::int64_t>(kernel.sections[s].steps.size());
      }
    }
    EXPECT_EQ(covered, steps);
  }
}

}  // namespace
}  // namespace cubejit
