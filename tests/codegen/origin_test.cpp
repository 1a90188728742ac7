// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/tile/origin.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

TEST(Origin, UsesAreCountedAndOneIsPicked) {
  const std::vector<KernelUse> uses = kernelUses(smallTileProgram());
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].calls, 2);
  EXPECT_EQ(uses[0].fewestRepeats, 1);
  EXPECT_EQ(uses[0].mostRepeats, 4);
  EXPECT_EQ(uses[0].phaseName, "contract");
  EXPECT_EQ(uses[0].at[0], (Place{1, 0}));
  EXPECT_EQ(uses[0].lists, std::vector<int>{0});
  EXPECT_EQ(uses[1].calls, 2);
  EXPECT_EQ(uses[1].phaseName, "pack");
}

TEST(Origin, PackedElementsCameFromTheirTensor) {
  const TileProgram p = smallTileProgram();
  const Moment contract{1, 0, 1};
  // Row r of the panel is 32 bytes, of x 36 bytes.
  const auto places = followMoves(p, {{{1, 0}, contract, Follow::kCameFrom},
                                      {{1, 5 * 32 + 12}, contract, Follow::kCameFrom},
                                      {{3, 0}, contract, Follow::kGoesTo}});
  EXPECT_EQ(places[0], (Place{0, 0}));
  EXPECT_EQ(places[1], (Place{0, 5 * 36 + 12}));
  EXPECT_EQ(places[2], (Place{3, 0})) << "a tensor is where it is";
}

TEST(Origin, NothingIsKnownBeforeItIsWritten) {
  const auto places = followMoves(smallTileProgram(), {{{1, 0}, {0, 0, 0}, Follow::kCameFrom}});
  EXPECT_EQ(places[0], (Place{1, 0}));
}

}  // namespace
}  // namespace cubejit
