// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that the segments of a reduction walk over every step once, wherever blocks of channels put it.
#include "algorithms/direct_data/lower/reduction_steps.h"

#include <gtest/gtest.h>

#include <map>

namespace cubejit {
namespace {

// Where each step's weights lie, and the place of dy that is multiplied with them.
std::map<std::int64_t, std::int64_t> walked(const ReductionSteps& s, std::int64_t count, std::int64_t atOnce) {
  std::vector<Segment> segments;
  s.addSegments(segments, 1000, 50000, count, atOnce);
  Section section;
  section.aOuterStep = atOnce * s.a;
  section.bOuterStep = atOnce * s.b;
  s.stepFrom(section);
  std::map<std::int64_t, std::int64_t> seen;
  for (const Segment& segment : segments) {
    for (std::int64_t i = 0; i < segment.outer; ++i) {
      for (std::int64_t k = 0; k < atOnce; ++k) {
        const std::int64_t b = segment.bOffset + i * section.bOuterStep + k * s.b - 50000;
        EXPECT_TRUE(seen.emplace(b, segment.aOffset + i * section.aOuterStep + k * s.a - 1000).second) << b;
      }
    }
  }
  return seen;
}

TEST(ReductionSteps, EachIsWalkedOnceWhereverItsChannelLies) {
  for (const std::int64_t block : {0, 8, 16}) {
    for (const std::int64_t atOnce : {1, 2, 4, 8}) {
      for (const std::int64_t count : {8, 16, 24, 32, 40, 64}) {
        const ReductionSteps s{4, 128, block, 9000};
        const auto seen = walked(s, count, atOnce);
        ASSERT_EQ(static_cast<std::int64_t>(seen.size()), count) << block << " " << atOnce;
        for (std::int64_t k = 0; k < count; ++k)
          EXPECT_EQ(seen.at(k * 128), s.aTo(k)) << block << " " << atOnce << " " << k;
      }
    }
  }
  EXPECT_EQ((ReductionSteps{4, 128, 16, 9000}.aTo(35)), 2 * 9000 + 3 * 4);
}

TEST(ReductionSteps, WholeBlocksAreIterationsOfOneSegment) {
  std::vector<Segment> segments;
  ReductionSteps{4, 128, 16, 9000}.addSegments(segments, 0, 0, 72, 8);
  EXPECT_EQ(segments, (std::vector<Segment>{{0, 0, 4}, {32, 8 * 128, 4}, {4 * 9000, 64 * 128, 1}}));
}

}  // namespace
}  // namespace cubejit
