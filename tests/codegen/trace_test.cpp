// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/vector/trace.h"

#include <gtest/gtest.h>

#include "codegen/tile/contract.h"
#include "codegen/vectorize.h"

namespace cubejit {
namespace {

// Two accumulators; one section of one step that reads b+0 and broadcasts a+4; 32 bytes of b an iteration.
Contract tile() {
  Contract c;
  c.lanes = 8;
  c.label = "tile";
  c.accumulators = {{0, {}}, {64, {}}};
  AOperand a;
  a.offset = 4;
  a.uses = {{0, 0}, {1, 0}};
  c.sections = {{{{{{0, {}}}, {a}}}, 8, 32}};
  return c;
}

const AccessFact* findAccess(const VectorProgram& p, const Trace& t, VOp op, PointerBase base) {
  for (std::size_t i = 0; i < p.code.size(); ++i) {
    if (p.code[i].op == op && t.accesses[i] && t.accesses[i]->base == base) return &*t.accesses[i];
  }
  return nullptr;
}

TEST(Trace, LoopsKnowWhereTheirCountsComeFrom) {
  const auto program = vectorize(Kernel(tile()), avx2Isa());
  ASSERT_TRUE(program.ok()) << program.error().message;
  const TraceArgs args{{2, 100, 1000, 5, 200, 2000, 5}, 1, 3, 16, 0, 256, 0};
  const Trace t = trace(*program, args);
  ASSERT_EQ(t.loops.size(), 4U);
  EXPECT_EQ(t.loops[0].source, TripSource::kRepeat);
  EXPECT_EQ(t.loops[0].trips, 3);
  EXPECT_EQ(t.loops[1].source, TripSource::kAccumulate);
  EXPECT_EQ(t.loops[1].trips, 0);
  EXPECT_EQ(t.loops[2].source, TripSource::kSegments);
  EXPECT_EQ(t.loops[2].trips, 2);
  EXPECT_EQ(t.loops[2].section, 0);
  EXPECT_EQ(t.loops[3].source, TripSource::kOuter);
  EXPECT_EQ(t.loops[3].trips, 5);
  EXPECT_EQ(t.loops[3].parent, 2);
}

TEST(Trace, AddressesAreTheListsAndTheSteps) {
  const auto program = vectorize(Kernel(tile()), avx2Isa());
  ASSERT_TRUE(program.ok());
  const Trace t = trace(*program, TraceArgs{{2, 100, 1000, 5, 200, 2500, 5}, 1, 3, 16, 0, 256, 0});
  const AccessFact* b = findAccess(*program, t, VOp::kLoad, PointerBase::kB);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->offset, 1000);
  ASSERT_EQ(b->steps.size(), 2U);
  EXPECT_EQ(b->steps[0].loop, 2);
  EXPECT_EQ(b->steps[0].bytes, 1500);
  EXPECT_EQ(b->steps[1].loop, 3);
  EXPECT_EQ(b->steps[1].bytes, 32);
  const AccessFact* a = findAccess(*program, t, VOp::kBroadcast, PointerBase::kA);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->offset, 104);
  ASSERT_EQ(a->steps.size(), 3U);
  EXPECT_EQ(a->steps[0].bytes, 16) << "the repetition moves A";
  const AccessFact* c = findAccess(*program, t, VOp::kStore, PointerBase::kC);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->offset, 0);
  EXPECT_EQ(c->steps[0].bytes, 256);
}

TEST(Trace, LoopsThatDoNotRunAreDescribedAllTheSame) {
  const auto program = vectorize(Kernel(tile()), avx2Isa());
  ASSERT_TRUE(program.ok());
  const Trace t = trace(*program, TraceArgs{{1, 0, 0, 1}, 1, 1, 0, 0, 0, 0});
  EXPECT_NE(findAccess(*program, t, VOp::kLoad, PointerBase::kC), nullptr) << "what accumulating would load";
}

TEST(Trace, LongUniformLoopsAreSkipped) {
  constexpr std::int64_t kCols = std::int64_t{1} << 28;
  const Copy m{.lanes = 8, .rows = 1, .cols = kCols, .srcPitch = kCols * 4, .dstPitch = kCols * 4, .label = "copy"};
  const auto program = vectorize(Kernel(m), avx2Isa());
  ASSERT_TRUE(program.ok());
  const Trace t = trace(*program, TraceArgs{});
  EXPECT_EQ(t.loops.back().trips, m.cols / 8 / 8);
}

}  // namespace
}  // namespace cubejit
