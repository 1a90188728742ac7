// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the tile interpreter does what contract.h, moves.h and program.h say, against sums written out by hand.
#include "codegen/tile/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "codegen/tile/interpret_program.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> ramp(std::size_t count, float first = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// One accumulator and one step: the smallest contract around an operand.
Contract around(const AOperand& a, std::vector<std::vector<std::int32_t>> tables = {}) {
  Contract c;
  c.lanes = 8;
  c.accumulators = {{0, {}}};
  c.sections = {{{{{{0, {}}}, {a}}}, 4, 0}};
  c.sections[0].steps[0].a[0].uses = {{0, 0}};
  c.tables = std::move(tables);
  return c;
}

std::vector<float> run(const Contract& c, const std::vector<float>& a, const std::vector<float>& b,
                       std::vector<std::int64_t> list = {1, 0, 0, 1}, float start = NAN) {
  std::vector<float> out(8, std::isnan(start) ? -1.0F : start);
  KernelArgs args;
  args.a = a.data();
  args.b = b.data();
  args.c = out.data();
  args.list = list.data();
  args.accumulate = std::isnan(start) ? 0 : 1;
  interpret(c, args);
  return out;
}

const std::vector<float> kOnes(8, 1.0F);

TEST(TileInterpret, OperandKinds) {
  AOperand a;
  a.offset = 8;
  EXPECT_THAT(run(around(a), ramp(32), kOnes), ElementsAre(3, 3, 3, 3, 3, 3, 3, 3));
  a.kind = AKind::kVector;
  EXPECT_THAT(run(around(a), ramp(32), kOnes), ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  a.kind = AKind::kPermute;
  a.table = 0;
  EXPECT_THAT(run(around(a, {{7, 6, 5, 4, 3, 2, 1, 1}}), ramp(32), kOnes), ElementsAre(10, 9, 8, 7, 6, 5, 4, 4));
  a.kind = AKind::kPermute2;
  a.offset2 = 80;
  EXPECT_THAT(run(around(a, {{0, 8, 1, 9, 2, 10, 7, 15}}), ramp(32), kOnes), ElementsAre(3, 21, 4, 22, 5, 23, 10, 28));
}

// A NaN is passed over wherever it comes, and of zeros that are equal the first one stays.
TEST(TileInterpret, MinimaAndMaxima) {
  const float inf = std::numeric_limits<float>::infinity();
  AOperand one;
  one.kind = AKind::kOne;
  Contract c = around(one);
  c.sections[0].bOuterStep = 32;
  std::vector<float> b{3, NAN, 5, NAN, 0.0F, -0.0F, inf, -inf, 4, 2, NAN, NAN, -0.0F, 0.0F, 1, 1};
  const std::vector<float> sums = run(c, {}, ramp(16), {1, 0, 0, 2}, 100);
  EXPECT_THAT(sums, ElementsAre(110, 112, 114, 116, 118, 120, 122, 124));
  c.combine = Combine::kMax;
  const std::vector<float> most = run(c, {}, b, {1, 0, 0, 2});
  EXPECT_THAT(most, ElementsAre(4, 2, 5, -inf, 0, 0, inf, 1));
  EXPECT_FALSE(std::signbit(most[4]));
  EXPECT_TRUE(std::signbit(most[5]));
  EXPECT_THAT(run(c, {}, b, {1, 0, 0, 2}, 3), ElementsAre(4, 3, 5, 3, 3, 3, inf, 3));
  EXPECT_THAT(run(c, {}, b, {1, 0, 0, 0}), testing::Each(-inf));
  c.combine = Combine::kMin;
  EXPECT_THAT(run(c, {}, b, {1, 0, 0, 2}), ElementsAre(3, 2, 5, inf, 0, 0, 1, -inf));
  c.addsToC = true;
  EXPECT_THAT(run(c, {}, b, {1, 0, 0, 2}, 2.5F), ElementsAre(2.5F, 2, 2.5F, 2.5F, 0, 0, 1, -inf));
  EXPECT_FALSE(std::signbit(run(c, {}, std::vector<float>(8), {1, 0, 0, 1}, -0.0F)[0]));
  c.sets = 2;
  c.sections[0].steps.push_back(c.sections[0].steps[0]);
  c.sections[0].steps[1].b[0].offset = 32;
  EXPECT_THAT(run(c, {}, b, {1, 0, 0, 1}), ElementsAre(3, 2, 5, inf, 0, 0, 1, -inf));
}

TEST(TileInterpret, LaneRanges) {
  AOperand a;
  a.kind = AKind::kVector;
  a.lanes = {2, 5};
  EXPECT_THAT(run(around(a), ramp(8), kOnes, {1, 0, 0, 1}, 100), ElementsAre(100, 100, 103, 104, 105, 100, 100, 100));
  a.lanes = {};
  a.useLanes = {0, 2};
  EXPECT_THAT(run(around(a), ramp(8), kOnes, {1, 0, 0, 1}, 100), ElementsAre(101, 102, 100, 100, 100, 100, 100, 100));
  Contract c = around(AOperand{});
  c.accumulators[0].lanes = {1, 3};
  EXPECT_THAT(run(c, {5}, kOnes), ElementsAre(-1, 5, 5, -1, -1, -1, -1, -1));
  c = around(AOperand{});
  c.sections[0].steps[0].b[0].lanes = {6, 8};
  EXPECT_THAT(run(c, {5}, kOnes), ElementsAre(0, 0, 0, 0, 0, 0, 5, 5));
}

TEST(TileInterpret, ListsSegmentsAndOuterSteps) {
  const Contract c = around(AOperand{});
  EXPECT_EQ(run(c, ramp(32), kOnes, {0})[0], 0);                     // no segments
  EXPECT_EQ(run(c, ramp(32), kOnes, {2, 0, 0, 0, 40, 0, 0})[0], 0);  // segments of no iterations
  EXPECT_EQ(run(c, ramp(32), kOnes, {2, 0, 0, 3, 40, 0, 2})[0], 1 + 2 + 3 + 11 + 12);
}

TEST(TileInterpret, SumsRoundOnceAndInOrder) {
  // 2^24 + 1 - 2^24: the one is lost if it comes second, kept if the large terms meet first.
  const float big = 16777216.0F;
  const Contract c = around(AOperand{});
  EXPECT_EQ(run(c, {big, 1, -big}, kOnes, {1, 0, 0, 3})[0], 0);
  EXPECT_EQ(run(c, {big, -big, 1}, kOnes, {1, 0, 0, 3})[0], 1);
  const float x =
      1.0F + 0x1p-12F;  // its square needs more than 24 bits: a product rounded by itself would lose the end
  EXPECT_EQ(run(c, {x}, std::vector<float>(8, x), {1, 0, 0, 1}, -x)[0], std::fma(x, x, -x));
}

// 1e8 swallows a 1 that joins it, so the order of sums can be told.
TEST(TileInterpret, StepsTakeTurnsAtSets) {
  Contract c = around({});
  const Step step = c.sections[0].steps[0];
  c.sections[0].steps.assign(4, step);
  for (int k = 0; k < 4; ++k) c.sections[0].steps[static_cast<std::size_t>(k)].a[0].offset = 4 * k;
  const std::vector<float> a{1e8F, 1, -1e8F, 1};
  EXPECT_EQ(run(c, a, kOnes)[0], 1);  // ((1e8 + 1) - 1e8) + 1
  c.sets = 2;
  EXPECT_EQ(run(c, a, kOnes)[0], 2);                        // (1e8 - 1e8) + (1 + 1)
  EXPECT_EQ(run(c, a, kOnes, {1, 0, 0, 1}, 40.0F)[7], 42);  // C joins the first set
  c.sets = 3;
  EXPECT_EQ(run(c, a, kOnes)[0], 0);  // ((1e8 + 1) + 1) - 1e8
}

TEST(TileInterpret, RepeatsMoveAllPointers) {
  const Contract c = around(AOperand{});
  const std::vector<float> a = ramp(3), b = ramp(24);
  const std::vector<std::int64_t> list = {1, 0, 0, 1};
  std::vector<float> out(24, -1);
  interpret(c, {a.data(), b.data(), out.data(), list.data(), 3, 4, 32, 32, 0});
  EXPECT_EQ(out[0], 1 * 1);
  EXPECT_EQ(out[8], 2 * 9);
  EXPECT_EQ(out[23], 3 * 24);
}

std::vector<float> moved(const Kernel& m, std::size_t words) {
  const std::vector<float> source = ramp(12);  // 3 rows of 4
  std::vector<float> out(words, -1);
  interpret(m, {source.data(), nullptr, out.data(), nullptr, 1, 0, 0, 0, 0});
  return out;
}

TEST(TileInterpret, Moves) {
  Copy m{.lanes = 8, .rows = 3, .cols = 2, .srcPitch = 16, .dstPitch = 16, .padCols = 1};
  EXPECT_THAT(moved(m, 12), ElementsAre(1, 2, 0, -1, 5, 6, 0, -1, 9, 10, 0, -1));
  m.dstPitch = 20;
  EXPECT_THAT(moved(turned(m), 10), ElementsAre(1, 5, 9, 0, -1, 2, 6, 10, 0, -1));
  EXPECT_THAT(moved(Fill{.lanes = 8, .rows = 3, .cols = 2, .dstPitch = 8}, 7), ElementsAre(0, 0, 0, 0, 0, 0, -1));
  EXPECT_THAT(moved(Accumulate{.lanes = 8, .rows = 3, .cols = 2, .srcPitch = 16, .dstPitch = 8}, 7),
              ElementsAre(0, 1, 4, 5, 8, 9, -1));
}

TEST(TileInterpret, ProgramsRunPhasesTasksLoopsClassesAndRepeats) {
  std::vector<float> x(72);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 9 + i % 9 * 8);  // panel[r][i] = r + 8 i
  std::vector<float> dx(80, 1000);
  const auto status = interpret(smallTileProgram(), {x.data(), dx.data()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (int pair = 0; pair < 5; ++pair) {
    const float sum = 28.0F + 64.0F * static_cast<float>(pair), start = pair == 4 ? 1000.0F : 0.0F;
    for (int lane = 0; lane < 8; ++lane) {
      const float factor = static_cast<float>(lane + 1);
      EXPECT_EQ(dx[static_cast<std::size_t>(16 * pair + lane)], start + sum * factor)
          << "pair " << pair << " lane " << lane;
      EXPECT_EQ(dx[static_cast<std::size_t>(16 * pair + 8 + lane)], start + 2 * sum * factor)
          << "pair " << pair << " lane " << lane;
    }
  }
}

TEST(TileInterpret, MemoryNobodyWroteIsNotANumber) {
  TileProgram program = smallTileProgram();
  program.phases[0].axes[0].steps.pop_back();  // half of the panel is never packed
  std::vector<float> x(72, 1), dx(80, 0);
  ASSERT_TRUE(interpret(program, {x.data(), dx.data()}).ok());
  EXPECT_TRUE(std::isnan(dx[0]));
}

TEST(TileInterpret, PrivateMemoryDoesNotOutliveATask) {
  TileProgram program = smallTileProgram();
  program.buffers[1].use = Buffer::Use::kPrivate;  // packed by the tasks of one phase, read by the next
  std::vector<float> x(72, 1), dx(80, 0);
  ASSERT_TRUE(interpret(program, {x.data(), dx.data()}).ok());
  EXPECT_TRUE(std::isnan(dx[0]));
}

TEST(TileInterpret, MissingBuffersAreNamed) {
  const auto status = interpret(smallTileProgram(), {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().stage, Stage::kRun);
  EXPECT_THAT(status.error().message, HasSubstr("buffer x is missing"));
  EXPECT_THAT(status.error().message, HasSubstr("buffer dx is missing"));
}

}  // namespace
}  // namespace cubejit
