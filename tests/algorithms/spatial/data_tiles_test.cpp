// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: has every tap along W one shift, and may a lane read exactly where the operand lies?
#include "algorithms/spatial/lower/data_tiles.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/host.h"

namespace cubejit {
namespace {

Problem layer(std::int64_t stride) {
  Problem p;
  p.rank = 2;
  p.cin = p.cout = 8;
  p.kernel = Dhw{1, 3, 3};
  p.stride = Dhw{1, stride, stride};
  p.padBefore = p.padAfter = Dhw{0, 1, 1};
  p.in = Dhw{1, 24, 40};
  p.out = Dhw{1, 24 / stride, 40 / stride};
  p.layout = Layout::kNcdhw;
  return p;
}

TEST(SpatialShape, EveryTapHasOneShiftOfOnePhase) {
  for (const std::int64_t stride : {1, 2}) {
    const SpatialShape shape(layer(stride), SpatialDataPlan{}, hostOf(IsaLevel::kAvx512));
    EXPECT_EQ(shape.residues.size(), static_cast<std::size_t>(stride));
    EXPECT_EQ(shape.shifts.size(), stride == 1 ? 3U : 2U);  // of a stride of 2: one tap where it is, and two neighbours
    std::multiset<std::int64_t> taps;
    for (const TapShift& shift : shape.shifts) {
      for (std::size_t p = 0; p < shape.residues.size(); ++p) {
        EXPECT_EQ(shift.kernelW[p] >= 0, (shift.residues >> p & 1) != 0);
        if (shift.kernelW[p] >= 0) taps.insert(shift.kernelW[p]);
      }
    }
    EXPECT_EQ(taps, (std::multiset<std::int64_t>{0, 1, 2}));
  }
}

TEST(SpatialShape, LanesReadWhereTheOperandLies) {
  const SpatialShape shape(layer(1), SpatialDataPlan{}, hostOf(IsaLevel::kAvx512));
  for (const std::int64_t offset : {-1, 0, 1}) {
    std::int64_t lanes = 0;
    for (std::int64_t block = 0; block < shape.blocks(); ++block) {
      for (std::int64_t v = 0; v < shape.vectorsOf(block); ++v) {
        const LaneRange range = shape.readable(offset, block, v);
        if (range == kNoLanes) continue;
        lanes += range == LaneRange{} ? shape.lanes : range.hi - range.lo;
      }
    }
    EXPECT_EQ(lanes, offset == 0 ? 40 : 39) << offset;
  }
}

}  // namespace
}  // namespace cubejit
