// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that fractals of an unfolded image are seen by as many rows as are not zero in the model's, in the order of residue classes,
// and that strides leave many unseen.
#include "emulation/seen_fractals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cubejit/machines.h"
#include "emulation/core_memory.h"

namespace cubejit {
namespace {

struct Counts {
  std::int64_t fractals = 0, unseen = 0;
};

// A random image of ones, spread, unfolded by the model.
Counts compare(std::mt19937_64& random, CoreMemory& memory, SeenFractals& seen) {
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
  };
  CubeWork w;
  w.stride = {1, pick(1, 5), pick(1, 20)};
  if (!leavesFractalsUnseen(w)) w.stride.h = 2;
  w.dilation = {1, pick(1, 3), pick(1, 3)};
  w.kernel = {1, pick(1, 4), pick(1, 4)};
  w.tapsHw = w.kernel.h * w.kernel.w;
  w.pad = {0, pick(0, 6), pick(0, 30)};
  w.pixels = {1, pick(1, 9), pick(1, 40)};
  Unfold i;
  i.piece.rows = {pick(0, 3), pick(1, 12)};
  i.piece.columns = {pick(0, 3), pick(1, 50)};
  i.piece.blocks = {0, 2};
  i.pixels.begin = pick(0, w.pixels.h * w.pixels.w - 1);
  i.pixels.count = pick(1, w.pixels.h * w.pixels.w - i.pixels.begin);
  i.units.begin = pick(0, 2 * w.tapsHw - 1);
  i.units.count = pick(1, 2 * w.tapsHw - i.units.begin);
  auto* l1 = reinterpret_cast<std::uint16_t*>(memory.at(CoreBuffer::kL1));
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t r = i.piece.rows.begin; r < i.piece.rows.end(); ++r) {
      for (std::int64_t x = i.piece.columns.begin; x < i.piece.columns.end(); ++x, l1 += 16)
        std::fill(l1, l1 + 16, r % w.stride.h == 0 && x % w.stride.w == 0 ? 1 : 0);
    }
  }
  const OperandTables none;
  execute(i, UnitContext{w, none}, memory);
  findSeen(i, w, seen);
  const std::vector<std::int64_t> positions = seen.positions();
  std::vector<int> taken(positions.size());
  for (const std::int64_t p : positions) ++taken[static_cast<std::size_t>(p)];
  EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), static_cast<std::ptrdiff_t>(taken.size()));  // an order
  Counts counts;
  std::int64_t count = 0;
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(seen.ranges.back().end / kSeenRows));
    for (std::int64_t m = 0; m < seen.m1 * 16; ++m) {
      const std::byte* row = memory.at(CoreBuffer::kL0a, (m / 16 * i.units.count + u) * 512 + m % 16 * 32);
      if (positions[static_cast<std::size_t>(m)] >= seen.ranges.back().end) continue;
      const bool zero = std::all_of(row, row + 32, [](std::byte b) { return b == std::byte{0}; });
      rows[static_cast<std::size_t>(positions[static_cast<std::size_t>(m)] / kSeenRows)] += zero ? 0 : 1;
    }
    for (std::int64_t m = 0; m < static_cast<std::int64_t>(rows.size()); ++m) {
      const bool taken = seen.at(u, m * kSeenRows);
      EXPECT_TRUE(taken || rows[static_cast<std::size_t>(m)] == 0) << "unit " << u << " m " << m;
      ++counts.fractals;
      counts.unseen += taken ? 0 : 1;
    }
    for (std::size_t r = 0; r < seen.ranges.size(); ++r) count += seen.taken(u, r) ? 1 : 0;
  }
  EXPECT_EQ(seen.count, count);
  EXPECT_EQ(seen.ranges.back().end, roundUp(i.pixels.count, kSeenRows));
  return counts;
}

TEST(SeenFractals, CountTheRowsThatSeeSomething) {
  std::mt19937_64 random(1);
  CoreMemory memory(machineByName("ascend910b2")->buffers);
  ASSERT_TRUE(memory.complete());
  Counts all;
  SeenFractals seen;  // one for all: nothing of the last image may be left
  for (int i = 0; i < 400; ++i) {
    const Counts counts = compare(random, memory, seen);
    all.fractals += counts.fractals;
    all.unseen += counts.unseen;
  }
  EXPECT_GT(3 * all.unseen, 2 * all.fractals);
}

TEST(SeenFractals, StridesOfRowsOrColumnsMakeLookingWorthIt) {
  CubeWork w;
  w.stride = {1, 2, 1};
  EXPECT_TRUE(leavesFractalsUnseen(w));
  w.spread = false;
  EXPECT_FALSE(leavesFractalsUnseen(w));
  w.spread = true;
  w.stride = {2, 1, 1};
  EXPECT_FALSE(leavesFractalsUnseen(w));
  w.stride = {1, 1, 3};
  EXPECT_TRUE(leavesFractalsUnseen(w));
  w.gradient = Gradient::kDw;
  EXPECT_FALSE(leavesFractalsUnseen(w));
}

}  // namespace
}  // namespace cubejit
