// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what transforms share and that they fit the registers, and that products cover every step of their reduction. What
// whole transforms compute is decided by tests/differential/winograd_test.cpp.
#include "algorithms/winograd/lower/linear_transforms.h"

#include <gtest/gtest.h>

#include "algorithms/winograd/lower/product.h"
#include "algorithms/winograd/lower/tile_box.h"

namespace cubejit {
namespace {

TEST(LinearPasses, CoefficientsAreStoredOnce) {
  ProgramBuilder b("test");
  b.beginPhase("only");
  PassRoom room(b);
  room.coefficients();
  const WinogradMatrices w = winogradMatrices(2, 3);
  const std::int64_t first = room.place(w.data), second = room.place(w.taps);
  EXPECT_EQ(room.place(w.data), first);
  EXPECT_EQ(second, first + 4 * static_cast<std::int64_t>(w.data.values.size()));
}

TEST(LinearPasses, VectorsAtOnceFitTheRegisters) {
  PassAxis axis;
  axis.matrix = winogradMatrices(4, 3).data;  // six rows: seven registers a vector, one for the coefficient
  EXPECT_EQ(passVectors({axis}, 32, 4), 4);
  EXPECT_EQ(passVectors({axis}, 13, 4), 1);
  EXPECT_EQ(passVectors({axis}, 16, 4), 2);
}

TEST(WinogradProduct, ListsCoverEveryStep) {
  const WinogradProduct product{3, 2, 16, 4, 64, 4, 128};
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
