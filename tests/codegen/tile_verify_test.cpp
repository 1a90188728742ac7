// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether each rule of the TileProgram verifier refuses what breaks it, starting from a small program that is sound, and
// whether programs lowered from random problems are sound as they are and not after their buffers shrink.
#include "codegen/tile/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "codegen/tile/rules.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using testing::HasSubstr;

struct Broken {
  const char* name;
  std::function<void(TileProgram&)> seed;
  const char* message;
};

Contract& contract(TileProgram& p) { return std::get<Contract>(p.kernels[0]); }
Copy& move(TileProgram& p) { return std::get<Copy>(p.kernels[1]); }
Phase& packing(TileProgram& p) { return p.phases[0]; }
Phase& contracting(TileProgram& p) { return p.phases[1]; }
Call& contractCall(TileProgram& p) { return contracting(p).body[0].body[0].call; }

// The contract's call becomes the body of a choice by the classes of the axis around it.
void choose(TileProgram& p, std::vector<Window> windows) {
  for (AxisStep& step : contracting(p).axes[0].steps) step.repeat = 1;
  Node choice;
  choice.classAxes = {0};
  choice.windows = std::move(windows);
  choice.body = std::move(contracting(p).body[0].body);
  contracting(p).body[0].body = {std::move(choice)};
}

class TileVerify : public testing::TestWithParam<Broken> {};

TEST(TileVerify, AcceptsASoundProgram) {
  const auto status = verify(smallTileProgram());
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST_P(TileVerify, NamesTheBrokenRule) {
  TileProgram program = smallTileProgram();
  GetParam().seed(program);
  const auto status = verify(program);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_EQ(status.error().stage, Stage::kTile);
  EXPECT_THAT(status.error().message, HasSubstr(GetParam().message));
}

const Broken kBroken[] = {
    // numbers that cannot be added
    {"HugeOffset", [](TileProgram& p) { contracting(p).streams[0].offset = INT64_MIN; },
     "stream a: -9223372036854775808 is not in [-2^54, 2^54]"},
    {"HugeProduct",
     [](TileProgram& p) {
       contracting(p).axes[0].steps[0].repeat = std::int64_t{1} << 40;
       contracting(p).axes[0].steps[0].repeatDelta = {1 << 20};
     },
     "axis row: 1099511627776 times 1048576 is not in [-2^54, 2^54]"},
    {"HugeIterations", [](TileProgram& p) { p.lists[0][0][0].outer = std::int64_t{1} << 53; },
     "list 0: 9007199254740992 times 32 is not in"},
    {"NoLanes",
     [](TileProgram& p) {
       move(p).lanes = 0;
       move(p).streamingStore = true;
     },
     "vectors of 0 lanes"},
    // one kernel
    {"Lanes", [](TileProgram& p) { contract(p).lanes = 12; }, "vectors of 12 lanes"},
    {"FormedPairs", [](TileProgram& p) { contract(p).vectorsB = Element::kPair; },
     "b vectors of pairs need dot products and a pitch from first to second members, which is 0"},
    {"QuadsOfPart",
     [](TileProgram& p) {
       contract(p).products = Products::kQuads;
       contract(p).sections[0].steps[0].a[0].useLanes = {0, 3};
     },
     "quads are multiplied by broadcasts, in all lanes"},
    {"QuadsAddedToC",
     [](TileProgram& p) {
       contract(p).products = Products::kQuads;
       contract(p).addsToC = true;
     },
     "sums of quads begin with what is in c, or at zero"},
    {"CopiesWithoutStream", [](TileProgram& p) { contract(p).copiesB = true; }, "stream d -1 is not in [0, 3)"},
    {"RepeatedCopies",
     [](TileProgram& p) {
       contractCall(p).d = 2;
       contracting(p).axes[0].steps[0].repeat = 2;
       contracting(p).axes[0].steps[0].repeatDelta = {0, 0, 4};
     },
     "repetitions move stream d"},
    {"NoAccumulators", [](TileProgram& p) { contract(p).accumulators.clear(); }, "no accumulators"},
    {"NoSets", [](TileProgram& p) { contract(p).sets = 0; }, "0 sets of accumulators"},
    {"AccumulatorLanes", [](TileProgram& p) { contract(p).accumulators[0].lanes = {3, 9}; },
     "accumulator 0: lanes [3, 9) are not in [0, 8)"},
    {"EmptyLanes", [](TileProgram& p) { contract(p).sections[0].steps[0].b[0].lanes = {4, 4}; }, "lanes [4, 4)"},
    {"StreamedPart",
     [](TileProgram& p) {
       contract(p).streamingStore = true;
       contract(p).accumulators[1].lanes = {0, 7};
     },
     "streaming store of accumulator 1"},
    {"UsedAccumulator", [](TileProgram& p) { contract(p).sections[0].steps[0].a[0].uses[0].acc = 2; },
     "accumulator 2 is not in [0, 2)"},
    {"UsedVector", [](TileProgram& p) { contract(p).sections[0].steps[0].a[1].uses[0].b = -1; },
     "b vector -1 is not in [0, 1)"},
    {"Unused", [](TileProgram& p) { contract(p).sections[0].steps[0].a[0].uses.clear(); }, "an operand without uses"},
    {"Table", [](TileProgram& p) { contract(p).sections[0].steps[0].a[0].kind = AKind::kPermute; },
     "table -1 is not in [0, 0)"},
    {"NoCombination", [](TileProgram& p) { contract(p).combine = Combine::kNone; }, "products are combined by none"},
    {"MaximumOfProducts", [](TileProgram& p) { contract(p).combine = Combine::kMax; },
     "max of products; only vectors of f32 times one have it"},
    {"OneIsRead",
     [](TileProgram& p) { contract(p).sections[0].steps[0].a[0] = {AKind::kOne, 4, 0, {}, {}, -1, {}, {{0, 0}}}; },
     "one has an offset, lanes or a table"},
    {"OneOfPairs",
     [](TileProgram& p) {
       contract(p).sections[0].steps[0].a[0] = {.kind = AKind::kOne, .uses = {{0, 0}}};
       contract(p).products = Products::kPairs;
     },
     "one as a factor of dot products"},
    {"TableEntry",
     [](TileProgram& p) {
       contract(p).tables.push_back({0, 1, 2, 3, 4, 5, 6, 8});
       contract(p).sections[0].steps[0].a[0].kind = AKind::kPermute;
       contract(p).sections[0].steps[0].a[0].table = 0;
     },
     "lane of the table 8 is not in [0, 8)"},
    {"TableSize", [](TileProgram& p) { contract(p).tables.push_back({0, 1}); }, "table 0 has 2 entries, not 8"},
    {"NegativeRows", [](TileProgram& p) { move(p).rows = -1; }, "a matrix of -1 x 8"},
    {"FilledType", [](TileProgram& p) { p.kernels[1] = Fill{.lanes = 8, .element = Element::kBf16}; },
     "zeros of type bf16"},
    {"PairsCut", [](TileProgram& p) { move(p).pairsCut = 1; }, "1 pairs cut of 4"},
    {"QuadsWithoutPitch", [](TileProgram& p) { move(p).from = Element::kQuad; },
     "quads are four members with a pitch between them"},
    {"QuadsCut",
     [](TileProgram& p) {
       move(p).from = Element::kQuad;
       move(p).pairPitch = 1;
       move(p).pairsCut = 4;
     },
     "4 pairs cut of 3"},
    {"StreamedIntegers",
     [](TileProgram& p) {
       move(p).to = Element::kI32;
       move(p).streamingStore = true;
     },
     "rounded integers, are not stored past the caches"},
    {"MapOfPairs", [](TileProgram& p) { p.kernels[1] = Map{.lanes = 8, .from = Element::kPair}; },
     "values of type pair"},
    {"OverlappingRows", [](TileProgram& p) { move(p).padCols = 1; },
     "rows of the destination overlap: 36 bytes, 32 apart"},
    // between the parts
    {"KernelLanes", [](TileProgram& p) { move(p).lanes = 16; }, "kernel 1 has vectors of 16 lanes, kernel 0 of 8"},
    {"ConstantBytes", [](TileProgram& p) { p.buffers[2].bytes += 4; }, "its values 32"},
    {"StreamBuffer", [](TileProgram& p) { packing(p).streams[0].buffer = 7; }, "buffer 7 is not in [0, 4)"},
    {"StepClass", [](TileProgram& p) { contracting(p).axes[0].steps[1].cls = 2; },
     "axis row step 1: class 2 is not in [0, 2)"},
    {"Deltas", [](TileProgram& p) { contracting(p).axes[0].steps[1].delta.assign(4, 0); }, "4 deltas for 3 streams"},
    {"NoRepeat", [](TileProgram& p) { contracting(p).axes[0].steps[0].repeat = 0; }, "repeat is 0"},
    {"ParallelRepeat", [](TileProgram& p) { packing(p).axes[0].steps[0].repeat = 2; },
     "is parallel and has steps that repeat"},
    {"ParallelAxis", [](TileProgram& p) { packing(p).parallelAxes = {1}; }, "parallel axis 1 is not in [0, 1)"},
    {"LoopAxis", [](TileProgram& p) { contracting(p).body[0].axis = 5; }, "loop over axis 5 is not in [0, 1)"},
    {"Twice", [](TileProgram& p) { contracting(p).parallelAxes = {0}; }, "axis row encloses itself"},
    {"RepeatOfTwoCalls", [](TileProgram& p) { contracting(p).body[0].body.push_back(contracting(p).body[0].body[0]); },
     "repeat around more than one call"},
    {"WindowAxis", [](TileProgram& p) { contracting(p).axes[0].windowAxis = 3; }, "window axis 3 is not in [0, 1)"},
    {"WindowOutside",
     [](TileProgram& p) {
       contracting(p).axes.push_back({"part", 1, {{}}, -1, {}});
       contracting(p).axes[0].windowAxis = 1;
       contracting(p).axes[0].windows = {{0, 3}};
     },
     "window [0, 3) of 2 steps"},
    {"WindowNotEnclosing",
     [](TileProgram& p) {
       contracting(p).axes.push_back({"part", 1, {{}}, -1, {}});
       contracting(p).axes[0].windowAxis = 1;
       contracting(p).axes[0].windows = {{0, 2}};
     },
     "axis row is not enclosed by its window axis"},
    {"Variants", [](TileProgram& p) { contractCall(p).variants.pop_back(); },
     "1 variants for 2 combinations of classes"},
    {"ClassAxis", [](TileProgram& p) { contractCall(p).classAxes = {4}; }, "class axis 4 is not in [0, 1)"},
    {"VariantKernel", [](TileProgram& p) { contractCall(p).variants[1].kernel = 2; },
     "variant 1: kernel 2 is not in [0, 2)"},
    {"AlignedKernel", [](TileProgram& p) { contractCall(p).variants[0].aligned = 9; },
     "variant 0: aligned kernel 9 is not in [0, 2)"},
    {"AlignedMove", [](TileProgram& p) { contractCall(p).variants[0].aligned = 1; },
     "variant 0: aligned kernel 1 does not mean the same"},
    {"VariantList", [](TileProgram& p) { contractCall(p).variants[0].list = -1; },
     "variant 0: list -1 is not in [0, 1)"},
    {"ListSections", [](TileProgram& p) { p.lists[0].emplace_back(); }, "list 0 has 2 sections, contract tile 1"},
    {"NegativeOuter", [](TileProgram& p) { p.lists[0][0][0].outer = -1; }, "a segment of -1 iterations"},
    {"MoveWithList", [](TileProgram& p) { packing(p).body[0].call.variants[0].list = 0; },
     "a list for a move that takes none"},
    {"ListedMoveWithoutList", [](TileProgram& p) { move(p).list = ListSteps{}; }, "list -1 is not in [0, 1)"},
    {"ListedMoveRepeats",
     [](TileProgram& p) {
       move(p).list = ListSteps{};
       packing(p).body[0].call.variants[0].list = 0;
       packing(p).body[0].call.place.repeat = 2;
     },
     "a move with a list repeats"},
    {"OffsetOfNoStream", [](TileProgram& p) { packing(p).body[0].call.place.offset[1] = 4; },
     "call pack: an offset of stream b, which it does not have"},
    {"CallRepeat", [](TileProgram& p) { contractCall(p).place.repeat = 0; }, "call contract: repeat is 0"},
    {"CallAndStepRepeat", [](TileProgram& p) { contractCall(p).place.repeat = 2; },
     "call contract repeats, and so do steps of the axis around it"},
    {"ChoiceWindows", [](TileProgram& p) { choose(p, {{0, 1}}); },
     "a choice has 1 windows for 2 combinations of classes"},
    {"ChoiceOutside", [](TileProgram& p) { choose(p, {{0, 1}, {0, 2}}); }, "a choice has the window [0, 2) of 1 nodes"},
    {"ChoiceAxis",
     [](TileProgram& p) {
       choose(p, {{0, 1}, {0, 1}});
       contracting(p).body[0].body[0].classAxes = {3};
     },
     "choice: class axis 3 is not in [0, 1)"},
    {"MissingStream", [](TileProgram& p) { contractCall(p).b = -1; }, "stream b -1 is not in [0, 3)"},
    {"WritesInput", [](TileProgram& p) { packing(p).streams[1].buffer = 0; }, "call pack writes x, which is an input"},
    // addresses
    {"ReadsBefore", [](TileProgram& p) { packing(p).streams[0].offset = -4; },
     "stream src touches bytes [-4, 280) of x"},
    {"WritesBehind", [](TileProgram& p) { p.buffers[3].bytes -= 4; }, "touches bytes [256, 320) of dx, which has 316"},
    {"ListBehind", [](TileProgram& p) { p.lists[0][0].push_back({256, 0, 1}); }, "stream a touches bytes"},
    {"OuterBehind", [](TileProgram& p) { p.lists[0][0][0].outer = 9; }, "stream a touches bytes"},
    {"PlaceBehind", [](TileProgram& p) { contractCall(p).place.offset[2] = 4; },
     "stream c touches bytes [260, 324) of dx"},
    {"ChosenBehind",
     [](TileProgram& p) {
       choose(p, {{0, 0}, {0, 1}});
       p.buffers[3].bytes -= 4;
     },
     "stream c touches bytes [256, 320) of dx"},
    {"RepeatBehind", [](TileProgram& p) { contracting(p).axes[0].steps[0].repeat = 6; },
     "stream c touches bytes [0, 384) of dx"},
    // tasks
    {"TasksWriteTheSame", [](TileProgram& p) { packing(p).axes[0].steps[1].delta[1] = 28; },
     "task 1 (call pack) writes byte 28 of panel, which task 0 writes"},
    {"TaskReadsAnother",
     [](TileProgram& p) {
       packing(p).streams[0].buffer = 1;
       p.buffers[1].bytes = 320;
     },
     "task 0 (call pack) reads byte"},
};

INSTANTIATE_TEST_SUITE_P(Rules, TileVerify, testing::ValuesIn(kBroken),
                         [](const auto& rule) { return std::string(rule.param.name); });

TEST(TileVerify, NamesEveryBrokenRule) {
  TileProgram program = smallTileProgram();
  contract(program).accumulators[0].lanes = {3, 9};
  move(program).padCols = -1;
  contractCall(program).variants[1].kernel = 2;
  EXPECT_EQ(structureRules(program).size(), 3U);
}

TEST(TileVerify, WhatMultipliesByOneAloneNeedsNoA) {
  TileProgram program = smallTileProgram();
  contract(program).sections[0].steps[0].a = {{.kind = AKind::kOne, .uses = {{0, 0}, {1, 0}}}};
  contractCall(program).a = -1;
  EXPECT_TRUE(verify(program).ok()) << verify(program).error().message;
  AOperand& first = contract(program).sections[0].steps[0].a[0];
  first.kind = AKind::kBroadcast;
  EXPECT_FALSE(verify(program).ok());
}

TEST(TileVerify, TheFarthestStepCountsWhereverItStands) {
  TileProgram program = smallTileProgram();
  Axis& row = contracting(program).axes[0];
  row.steps = {{{0, 0, 1000}, 0, 1, {}}, {{0, 0, 0}, 0, 1, {}}};
  EXPECT_FALSE(verify(program).ok());
  row.steps = {{{0, 0, -4}, 0, 1, {}}, {{0, 0, 0}, 0, 1, {}}};
  EXPECT_FALSE(verify(program).ok());
  row.steps = {{{0, 0, 256}, 0, 1, {}}, {{0, 0, 0}, 0, 1, {}}};
  EXPECT_TRUE(verify(program).ok());
}

// Two tasks whose first calls are apart, but not the repetitions inside their kernels.
TEST(TileVerify, RepetitionsBelongToTheirTask) {
  TileProgram program = smallTileProgram();
  Phase& phase = contracting(program);
  phase.axes[0].steps = {{{0, 0, 0}, 0, 2, {4, 0, 64}}};
  phase.axes.push_back({"part", 1, {{{0, 0, 0}, 0, 1, {}}, {{0, 0, 128}, 0, 1, {}}}, -1, {}});
  phase.parallelAxes = {1};
  EXPECT_TRUE(verify(program).ok());
  phase.axes[0].steps[0].repeat = 3;
  const auto status = verify(program);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("writes byte 128 of dx, which task 0 writes"));
}

TEST(TileVerify, WindowsLimitAddresses) {
  TileProgram program = smallTileProgram();
  contracting(program).axes.push_back({"part", 1, {{}}, -1, {}});
  contracting(program).parallelAxes = {1};
  Axis& row = contracting(program).axes[0];
  row.steps = {{{0, 0, 0}, 0, 1, {}}, {{0, 0, 1000}, 0, 1, {}}};  // the second would leave dx
  row.windowAxis = 1;
  row.windows = {{0, 1}};
  const auto status = verify(program);
  EXPECT_TRUE(status.ok()) << status.error().message;
  row.windows = {{0, 2}};
  EXPECT_FALSE(verify(program).ok());
}

}  // namespace
}  // namespace cubejit
