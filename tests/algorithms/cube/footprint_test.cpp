// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of footprints: bytes of a plan followed by hand, and for random plans no less than any step needs.
#include "algorithms/cube/footprint.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "cubejit/machines/toy.h"
#include "tests/algorithms/cube/cube_plans.h"

namespace cubejit {
namespace {

TEST(CubeFootprint, DataGradientByHand) {
  const CubeWork w = cubeWorkOf(handProblem(), Pass::kDx, toyMachine());
  const TilingPlan plan = handPlan(w);
  const CubeFootprint f = footprintOf(w, plan);
  EXPECT_EQ(f.l0a, 32 * 48 * 2 * 2);
  EXPECT_EQ(f.l0b, 48 * 32 * 2 * 2);
  EXPECT_EQ(f.l0c, 32 * 32 * 4);
  EXPECT_EQ(f.ub, 2 * 32 * 16 * (4 + 2));  // two strips of sums, and of what they become
  EXPECT_EQ(f.piece.rows, 2 + 2);          // two rows of dx and the kernel's reach
  EXPECT_EQ(f.piece.columns, 16);          // more than one row: whole ones
  EXPECT_EQ(f.piece.blocks, 1);
  EXPECT_EQ(f.l1A, 4 * 16 * 16 * 2);
  EXPECT_EQ(f.l1B, 144 * 32 * 2);
  EXPECT_EQ(f.l1, 2 * f.l1A + 2 * f.l1B);
}

TEST(CubeFootprint, WeightGradientByHand) {
  const CubeWork w = cubeWorkOf(handProblem(), Pass::kDw, toyMachine());
  const CubeFootprint f = footprintOf(w, handPlan(w));
  EXPECT_EQ(f.l1A, 32 * 32 * 2);
  EXPECT_EQ(f.piece.rows, 2 + 2);  // 32 pixels of dy are two rows
  EXPECT_EQ(f.piece.blocks, 1);    // 48 of the 144 columns of a block
  EXPECT_EQ(f.l1B, 4 * 16 * 16 * 2);
}

TEST(CubeFootprint, AStrideSpreadsTheImageInL1ButNotInMemory) {
  Problem p = handProblem();
  p.stride = Dhw{1, 2, 2};
  p.out = Dhw{1, 4, 8};
  const CubeWork w = cubeWorkOf(p, Pass::kDx, toyMachine());
  const CubeFootprint f = footprintOf(w, handPlan(w));
  EXPECT_EQ(f.piece.rows, 4);
  EXPECT_EQ(f.piece.columns, 15);  // 8 columns and 7 of zeros
  EXPECT_EQ(f.piece.rowsRead, 2);
  EXPECT_EQ(f.piece.columnsRead, 8);
}

TEST(CubeFootprint, ATaskWithinARowStagesOnlyItsColumnsUnlessRowsAreWhole) {
  const CubeWork w = cubeWorkOf(handProblem(), Pass::kDx, toyMachine());
  CubeWork whole = w;
  whole.kernels = CubeKernels::kAscendC;
  TilingPlan plan = handPlan(w);
  plan.cube().singleShape.m = 8;
  plan.cube().tile.base.m = 8;
  EXPECT_EQ(footprintOf(w, plan).piece.columns, 8 + 2);
  EXPECT_EQ(footprintOf(whole, plan).piece.columns, 16);
}

TEST(CubeFootprint, NothingOverflows) {
  const CubeWork w = cubeWorkOf(handProblem(), Pass::kDx, toyMachine());
  TilingPlan plan = handPlan(w);
  plan.cube().tile.stepKa = plan.cube().tile.stepKb = std::int64_t{1} << 31;
  plan.cube().tile.base = Mkn{std::int64_t{1} << 31, std::int64_t{1} << 31, std::int64_t{1} << 31};
  const CubeFootprint f = footprintOf(w, plan);
  EXPECT_EQ(f.l0a, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(f.l1, std::numeric_limits<std::int64_t>::max());
}

// Rows that a run of `length` pixels touches, over all runs of a task, never exceed what is staged.
TEST(CubeFootprint, EveryStepOfATaskFindsItsRows) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    Problem p = handProblem();
    p.in.w = p.out.w = static_cast<std::int64_t>(random() % 40 + 1);
    p.in.h = p.out.h = static_cast<std::int64_t>(random() % 20 + 1);
    const CubeWork w = cubeWorkOf(p, Pass::kDx, toyMachine());
    TilingPlan plan = handPlan(w);
    const auto rows = static_cast<std::int64_t>(random() % 6 + 1);
    plan.cube().singleShape.m = rows * p.in.w;
    plan.cube().tile.base.m = static_cast<std::int64_t>(random() % 8 + 1) * 16;
    const UnfoldedPiece piece = footprintOf(w, plan).piece;
    for (std::int64_t at = 0; at < plan.cube().singleShape.m; at += plan.cube().tile.base.m) {
      const std::int64_t end = std::min(at + plan.cube().tile.base.m, plan.cube().singleShape.m);
      const std::int64_t touched = (end - 1) / p.in.w - at / p.in.w + 1;
      ASSERT_GE(piece.rows, std::min(touched + 2, p.out.h));
    }
  }
}

}  // namespace
}  // namespace cubejit
