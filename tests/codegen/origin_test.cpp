// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/tile/origin.h"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/lower.h"
#include "cubejit/index_map.h"
#include "tests/support/plan_fields.h"
#include "tests/support/small_tile_program.h"
#include "tiling/coordinates.h"
#include "tiling/planner.h"

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

// Packed weights of a real program: every one is an element of w, and each element is there once.
TEST(Origin, PackedWeightsAreThoseOfW) {
  Problem p;
  p.rank = 2;
  p.cin = 20;
  p.cout = 6;
  p.in = p.out = {1, 4, 5};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  const Machine machine = hostMachine(avx2Isa(), 1, 32768, 1 << 20, 32 << 20);
  TilingPlan plan = defaultPlan("direct", Pass::kDx);
  setField(plan, "register_w", 3);
  ASSERT_TRUE(checkPlan(p, plan, machine).empty());
  const auto program = lower(p, plan, machine);
  ASSERT_TRUE(program.ok()) << program.error().message;
  int packed = -1, w = -1;
  for (std::size_t b = 0; b < program->buffers.size(); ++b) {
    if (program->buffers[b].name == "packed_w") packed = static_cast<int>(b);
    if (program->buffers[b].boundName() == "w") w = static_cast<int>(b);
  }
  ASSERT_GE(packed, 0);
  std::vector<OriginQuestion> questions;
  for (std::int64_t at = 0; at < program->buffers[static_cast<std::size_t>(packed)].bytes; at += 4)
    questions.push_back({{packed, at}, {1, 0, 1}, Follow::kCameFrom});
  std::vector<int> seen(static_cast<std::size_t>(wElements(p)), 0);
  for (const Place& place : followMoves(*program, questions)) {
    if (place.buffer < 0 || place.buffer == packed) continue;  // padding
    ASSERT_EQ(place.buffer, w);
    ++seen[static_cast<std::size_t>(place.offset / 4)];
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
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
