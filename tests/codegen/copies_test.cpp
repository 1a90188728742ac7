// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether a contract that reads what another one has copied computes the same, and whether every copy is traced back to where it
// was read.
#include "codegen/tile/copies.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "codegen/tile/interpret.h"
#include "codegen/tile/segment_words.h"

namespace cubejit {
namespace {

// Two sections of different steps; the second vector of the first section exists in part.
Contract copyingContract() {
  Contract c;
  c.lanes = 8;
  c.label = "copying";
  c.copiesB = true;
  c.accumulators = {{0, {}}, {32, {}}};
  for (int s = 0; s < 2; ++s) {
    Section section;
    for (int k = 0; k <= s; ++k) {
      Step step;
      step.b = {{64 * k, {}}, {64 * k + 32, s == 0 ? LaneRange{0, 5} : LaneRange{}}};
      AOperand a;
      a.offset = 4 * k;
      a.uses = {{0, 0}, {1, 1}};
      step.a = {a};
      section.steps.push_back(step);
    }
    section.aOuterStep = 8;
    section.bOuterStep = 128 * (s + 1);
    c.sections.push_back(section);
  }
  return c;
}

const SegmentList kList = {{{0, 256, 2}, {16, 0, 1}}, {{4, 1024, 3}}};

struct Outcome {
  std::vector<float> c, d;
};

Outcome run(const Contract& contract, const SegmentList& list, const std::vector<float>& a,
            const std::vector<float>& b) {
  Outcome out{std::vector<float>(16),
              std::vector<float>(static_cast<std::size_t>(copiedBytes(copyingContract(), kList)) / 4)};
  const std::vector<std::int64_t> flat = segmentWords(list);
  KernelArgs args;
  args.a = a.data();
  args.b = b.data();
  args.c = out.c.data();
  args.d = out.d.data();
  args.list = flat.data();
  interpret(contract, args);
  return out;
}

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST(Copies, AreReadInTheirPlace) {
  const Contract contract = copyingContract();
  EXPECT_EQ(copiedBytes(contract, kList), (3 * 2 + 3 * 4) * 32);
  const std::vector<float> a = counted(100), b = counted(1000);
  const Outcome first = run(contract, kList, a, b);
  const Contract reader = readingCopies(contract);
  EXPECT_FALSE(reader.copiesB);
  const Outcome again = run(reader, readingCopies(contract, kList), a, first.d);
  EXPECT_EQ(first.c, again.c);
  EXPECT_NE(first.c, std::vector<float>(16));
}

TEST(Copies, KnowWhereTheyCameFrom) {
  const Contract contract = copyingContract();
  const std::vector<float> b = counted(1000);
  const Outcome first = run(contract, kList, counted(100), b);
  int asked = 0;
  visitCopies(contract, kList, [&](std::int64_t at, const LaneRange& lanes) {
    for (std::int64_t l = 0; l < (lanes.all() ? 8 : lanes.hi); ++l, ++asked) {
      const auto from = copiedFrom(contract, kList, at + 4 * l);
      EXPECT_TRUE(from.has_value());
      if (!from) return false;
      EXPECT_EQ(first.d[static_cast<std::size_t>(at / 4 + l)], b[static_cast<std::size_t>(*from / 4)]);
    }
    return true;
  });
  EXPECT_EQ(asked, 3 * (8 + 5) + 3 * 4 * 8);
  EXPECT_FALSE(copiedFrom(contract, kList, copiedBytes(contract, kList)).has_value());
  EXPECT_FALSE(copiedFrom(readingCopies(contract), kList, 0).has_value());
}

}  // namespace
}  // namespace cubejit
