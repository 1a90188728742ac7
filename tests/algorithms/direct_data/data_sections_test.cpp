// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that the steps of a data gradient's section multiply each result's scalar with each tap's weights once, and that shared scalars
// are loaded once.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>

#include "algorithms/direct_data/lower/data_sections.h"

namespace cubejit {
namespace {

// A row of 6 results whose 3 taps read the column itself and its neighbours; the image ends at both sides.
struct Row {
  DataTile tile;
  Subset rows{0, 1, 0, 1, 0, 6, {{0, 0, 0, 5}, {-64, 1000, 0, 6}, {-128, 2000, 1, 6}}};

  Row() {
    tile.lens = Lens{1, 1, 1, 6};
    tile.vectors = 2;
    tile.a.w = 64;
    tile.operandStep = {1, 1, 1};
  }
};

// How often (result, vector of it) meets (scalar, weights), by offsets.
std::map<std::pair<std::int64_t, std::int64_t>, int> meetings(const Section& section, std::int64_t acc) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> out;
  for (const Step& step : section.steps) {
    for (const AOperand& a : step.a) {
      for (const Use& use : a.uses)
        if (use.acc == acc) ++out[{a.offset, step.b[static_cast<std::size_t>(use.b)].offset}];
    }
  }
  return out;
}

TEST(DataSections, SharedScalarsMakeTheSameProducts) {
  Row row;
  const Section apart = dataSection(row.tile, row.rows, 2, 2);
  row.tile.reusesBroadcasts = true;
  const Section shared = dataSection(row.tile, row.rows, 2, 2);
  EXPECT_EQ(apart.aOuterStep, shared.aOuterStep);
  EXPECT_EQ(apart.bOuterStep, shared.bOuterStep);
  ASSERT_EQ(shared.steps.size(), 2U);
  EXPECT_EQ(shared.steps[0].a.size(), 6U);  // columns, of which the taps reach 5 + 6 + 5
  EXPECT_EQ(shared.steps[0].b.size(), 6U);
  for (std::int64_t w = 0; w < 6; ++w) {
    for (std::int64_t v = 0; v < 2; ++v) {
      const auto want = meetings(shared, w * 2 + v);
      EXPECT_EQ(want.size(), w == 0 || w == 5 ? 4U : 6U);
      for (const auto& [where, count] : want) EXPECT_EQ(count, 1);
    }
  }
}

TEST(DataSections, TapsOneAfterAnotherLoadTheirOwnVectors) {
  Row row;
  for (GroupedTap& tap : row.rows.taps) tap = {tap.a, tap.b, 0, 6};
  row.tile.lastVector = 3;
  const Section section = dataSection(row.tile, row.rows, 2, 2);
  ASSERT_EQ(section.steps.size(), 6U);
  for (std::size_t i = 0; i < section.steps.size(); ++i) {
    const Step& step = section.steps[i];
    ASSERT_EQ(step.b.size(), 2U);
    EXPECT_EQ(step.b[0].offset, static_cast<std::int64_t>(i / 2 * 1000 + i % 2 * 4));
    EXPECT_TRUE(step.b[0].lanes.all());
    EXPECT_EQ(step.b[1].lanes, (LaneRange{0, 3}));
    EXPECT_EQ(step.a.size(), 6U);
  }
}

// One of a segment's steps prefetches, and only if the segment does: more would ask for the same lines again.
TEST(DataSections, TheFirstStepOfASegmentThatAsksAsks) {
  Row row;
  row.tile.prefetchAhead = 768;
  for (const bool shared : {false, true}) {
    for (const bool prefetches : {false, true}) {
      row.tile.reusesBroadcasts = shared;
      row.rows.prefetches = prefetches;
      const Section section = dataSection(row.tile, row.rows, 2, 2);
      EXPECT_EQ(section.steps.front().prefetchAhead, prefetches ? 768 : 0);
      for (std::size_t i = 1; i < section.steps.size(); ++i) EXPECT_EQ(section.steps[i].prefetchAhead, 0);
    }
  }
}

}  // namespace
}  // namespace cubejit
