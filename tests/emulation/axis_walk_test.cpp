// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that walking along an axis finds what the map says of each coordinate, for maps of every layout and any digits.
#include "emulation/axis_walk.h"

#include <gtest/gtest.h>

#include <random>

namespace cubejit {
namespace {

TEST(AxisWalk, FindsWhatTheMapSays) {
  std::mt19937_64 random(1);
  const auto pick = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < 500; ++i) {
    IndexMap map;
    const std::size_t axis = random() % 5;
    for (Digit& d : map.digits[axis]) {
      if (random() % 3 != 0) d = {pick(20), pick(9), pick(1000) - 100};
    }
    const std::int64_t first = pick(60) - 1;
    AxisWalk walk(map, axis, first);
    for (std::int64_t at = first; at < first + 400; ++at, walk.next())
      ASSERT_EQ(walk.offset(), map.along(axis, at)) << i << " at " << at;
  }
}

TEST(AxisWalk, OffsetsOfNeighboursAreThoseOfTheMap) {
  std::mt19937_64 random(2);
  const auto pick = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < 500; ++i) {
    IndexMap map;
    const std::int64_t lowest = pick(20), second = pick(6);
    map.digits[1] = {Digit{1, lowest, pick(100)}, Digit{lowest * pick(2), second, pick(1000) - 100}, Digit{}};
    if (i % 3 == 0) map.digits[1][2] = {pick(30), pick(4), pick(100)};  // not a multiple of the lowest
    std::int64_t at = pick(60) - 1;
    const std::int64_t end = at + pick(200);
    eachOffset(map, 1, at, end - at, [&](std::int64_t offset) { ASSERT_EQ(offset, map.along(1, at++)) << i; });
    ASSERT_EQ(at, end);
  }
}

}  // namespace
}  // namespace cubejit
