// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are the pixels of dy cut so that each is in one part, and no part is empty or much longer than another?
#include "algorithms/bias/lower/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/operands.h"

namespace cubejit {
namespace {

TEST(BiasParts, EveryUnitIsInOnePart) {
  for (const std::size_t runs : {1U, 3U, 8U}) {
    for (const std::int64_t units : {1, 5, 16}) {
      for (const std::int64_t parts : {1, 2, 3, 7, 100}) {
        std::vector<std::int64_t> offsets;
        for (std::size_t i = 0; i < runs; ++i) offsets.push_back(static_cast<std::int64_t>(i) * 1000);
        std::set<std::int64_t> seen;
        std::int64_t longest = 0;
        const std::vector<BiasPart> cut = cutRuns(offsets, units, 4, parts);
        EXPECT_LE(static_cast<std::int64_t>(cut.size()), parts);
        for (const BiasPart& part : cut) {
          ASSERT_FALSE(part.empty());
          std::int64_t length = 0;
          for (const BiasPiece& piece : part) {
            ASSERT_GT(piece.units, 0);
            length += piece.units;
            for (std::int64_t i = 0; i < piece.units; ++i)
              EXPECT_TRUE(seen.insert(piece.offset + i * 4).second) << "twice: " << piece.offset + i * 4;
            const std::int64_t last = (piece.offset % 1000) / 4 + piece.units;
            ASSERT_LE(last, units) << "a piece is of one run";
            EXPECT_EQ(piece.endsImage, last == units);
          }
          longest = std::max(longest, length);
        }
        const auto all = static_cast<std::int64_t>(runs) * units;
        EXPECT_EQ(static_cast<std::int64_t>(seen.size()), all);
        EXPECT_LE(longest, (all + parts - 1) / parts);
      }
    }
  }
}

TEST(BiasParts, RunsFollowTheLayout) {
  Problem p = squareProblem(2, 8, 40, 6);
  p.in.d = p.out.d = 3;
  const auto runsOf = [&](Layout layout) {
    p.layout = layout;
    const ConvView v = makeConvView(p, Pass::kDb);
    return pixelRuns(v.small, v.batch);
  };
  const PixelRuns last = runsOf(Layout::kNdhwc), plain = runsOf(Layout::kNcdhw), blocked = runsOf(Layout::kNdc1hwc0);
  EXPECT_EQ(last.offsets, std::vector<std::int64_t>{0});
  EXPECT_EQ(last.pixels, 2 * 3 * 36);
  EXPECT_EQ(plain.offsets, (std::vector<std::int64_t>{0, 40 * 3 * 36 * 4}));
  EXPECT_EQ(plain.pixels, 3 * 36);
  EXPECT_EQ(blocked.offsets.size(), 6U) << "planes of a block lie apart";
  EXPECT_EQ(blocked.offsets[1], 40 * 36 * 4);
  EXPECT_EQ(blocked.pixels, 36);
}

}  // namespace
}  // namespace cubejit
