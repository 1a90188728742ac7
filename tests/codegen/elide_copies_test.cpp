// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of small programs, each with one reason to forward or not to: do they compute the same bits, and with how many calls?
#include "codegen/tile/elide_copies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "codegen/tile/element.h"
#include "codegen/tile/interpret_program.h"
#include "codegen/tile/verify.h"

namespace cubejit {
namespace {

using cubejit::turned;

constexpr int kIn = 0, kOut = 1, kP = 2, kQ = 3, kR = 4;  // streams, and the buffers they begin
constexpr std::int64_t kBytes = 4096;

Copy rowsOf(std::int64_t rows, std::int64_t cols, std::int64_t srcPitch, std::int64_t dstPitch,
            Element from = Element::kF32, Element to = Element::kF32, std::int64_t padCols = 0) {
  return {.rows = rows,
          .cols = cols,
          .srcPitch = srcPitch,
          .dstPitch = dstPitch,
          .padCols = padCols,
          .from = from,
          .to = to,
          .label = "move"};
}
Copy row(std::int64_t cols, Element from = Element::kF32, Element to = Element::kF32) {
  return rowsOf(1, cols, 0, 0, from, to);
}
Fill zeros(std::int64_t words) { return {.rows = 1, .cols = words, .label = "zeros"}; }
Accumulate addition(std::int64_t words) { return {.rows = 1, .cols = words, .label = "addition"}; }
Transpose turned(std::int64_t rows, std::int64_t cols, std::int64_t srcPitch, std::int64_t dstPitch,
                 Element from = Element::kF32, Element to = Element::kF32, std::int64_t padCols = 0) {
  return turned(rowsOf(rows, cols, srcPitch, dstPitch, from, to, padCols));
}

class Program {
 public:
  Program() {
    p_.name = "moves";
    p_.buffers = {{"in", Buffer::Use::kInput, kBytes, {}},
                  {"out", Buffer::Use::kOutput, kBytes, {}},
                  {"P", Buffer::Use::kPrivate, kBytes, {}},
                  {"Q", Buffer::Use::kPrivate, kBytes, {}},
                  {"R", Buffer::Use::kPrivate, kBytes, {}}};
    p_.queues = {"queue"};
    p_.units = {{"loads", 0}, {"stores", 0}};
    Phase phase;
    phase.name = "phase";
    for (int b = 0; b < 5; ++b) phase.streams.push_back({p_.buffers[static_cast<std::size_t>(b)].name, b, 0});
    p_.phases = {phase};
  }

  static Node callOf(int kernel, int list, int a, std::int64_t from, int c, std::int64_t to) {
    Node node;
    node.call.name = "call";
    node.call.a = a;
    node.call.c = c;
    node.call.variants = {Variant{kernel, list, false}};
    node.call.place.offset = {from, 0, to, 0};
    return node;
  }

  Program& add(Kernel m, int a, std::int64_t from, int c, std::int64_t to) {
    const bool zero = std::holds_alternative<Fill>(m);
    p_.kernels.emplace_back(std::move(m));
    body().push_back(callOf(static_cast<int>(p_.kernels.size()) - 1, -1, zero ? -1 : a, zero ? 0 : from, c, to));
    return *this;
  }
  Program& addListed(auto m, std::int64_t aStep, std::int64_t cStep, const SegmentList& list, int a, std::int64_t from,
                     int c, std::int64_t to) {
    m.list = ListSteps{aStep, cStep};
    p_.lists.push_back(list);
    add(std::move(m), a, from, c, to);
    body().back().call.variants.front().list = static_cast<int>(p_.lists.size()) - 1;
    return *this;
  }

  Phase& phase() { return p_.phases.front(); }
  std::vector<Node>& body() { return phase().body; }
  TileProgram& tile() { return p_; }

 private:
  TileProgram p_;
};

// Words that are numbers in any type.
std::vector<std::uint8_t> result(const TileProgram& tile) {
  std::vector<std::uint16_t> in(kBytes / 2);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(0x3001 + i);
  std::vector<std::uint8_t> out(kBytes, 0x55);
  const Status ran = interpret(tile, {in.data(), out.data()});
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  return out;
}

std::size_t callsIn(const std::vector<Node>& nodes) {
  std::size_t calls = 0;
  for (const Node& node : nodes) calls += node.isCall() ? 1 : callsIn(node.body);
  return calls;
}

// The program with its copies elided computes the same; how many calls it has.
std::size_t elided(Program& program, const CopyElision& options = {}) {
  const TileProgram after = elideCopies(program.tile(), options);
  const Status sound = verify(after);
  EXPECT_TRUE(sound.ok()) << sound.error().message;
  EXPECT_EQ(result(after), result(program.tile()));
  return callsIn(after.phases.front().body);
}
std::size_t unchanged(Program& program) {
  EXPECT_EQ(elideCopies(program.tile()), program.tile());
  return elided(program);
}

TEST(ForwardCopies, CopyOfCopy) {
  Program p;
  p.add(row(64), kIn, 16, kQ, 32).add(row(40), kQ, 64, kOut, 8);
  EXPECT_LE(elided(p), 2U) << "48 and 8 elements";
  Program chain;
  chain.add(row(64), kIn, 0, kP, 0).add(row(64), kP, 0, kQ, 0).add(row(64), kQ, 0, kR, 0).add(row(64), kR, 0, kOut, 0);
  EXPECT_EQ(elided(chain), 1U);
}

TEST(ForwardCopies, TransposesAndCopies) {
  Program turnedFirst;
  turnedFirst.add(turned(16, 16, 64, 64), kIn, 0, kQ, 0).add(row(256), kQ, 0, kOut, 64);
  EXPECT_EQ(elided(turnedFirst), 1U);
  Program turnedLast;
  turnedLast.add(rowsOf(16, 16, 128, 64), kIn, 0, kQ, 0).add(turned(16, 16, 64, 64), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(turnedLast), 1U);
  Program twice;
  twice.add(turned(16, 16, 64, 64), kIn, 0, kQ, 0).add(turned(16, 16, 64, 64), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(twice), 1U) << "a copy";
}

TEST(ForwardCopies, TailsWithPadding) {
  Program rows;
  rows.add(rowsOf(9, 5, 20, 64, Element::kF32, Element::kF32, 11), kIn, 4, kQ, 0).add(row(144), kQ, 0, kOut, 0);
  EXPECT_LE(elided(rows), 2U) << "blocks of rows, and the ninth";
  Program turns;
  turns.add(turned(7, 16, 32, 32, Element::kHalf, Element::kHalf, 9), kIn, 0, kQ, 0)
      .add(row(256, Element::kF16, Element::kF32), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(turns), 1U);
}

TEST(ForwardCopies, ZerosComeBesideCopies) {
  Program p;
  p.add(zeros(96), -1, 0, kQ, 0).add(row(40), kIn, 100, kQ, 64).add(row(96), kQ, 0, kOut, 0);
  EXPECT_LE(elided(p), 5U);
  Program only;
  only.add(zeros(64), -1, 0, kQ, 0).add(row(100, Element::kF16, Element::kF32), kQ, 0, kOut, 0);
  EXPECT_LE(elided(only), 2U);
}

TEST(ForwardCopies, LatestWriterCounts) {
  Program p;
  p.add(row(64), kIn, 0, kQ, 0).add(row(10), kIn, 1024, kQ, 20).add(row(64), kQ, 0, kOut, 0);
  elided(p);
  Program listed;
  listed.addListed(row(8), 32, 96, {{{0, 0, 5}, {512, 480, 3}}}, kIn, 0, kQ, 0)
      .addListed(zeros(16), 0, 96, {{{0, 0, 8}}}, -1, 0, kQ, 32)
      .add(turned(24, 8, 32, 128), kQ, 0, kOut, 0);
  elided(listed);
}

TEST(ForwardCopies, OneConversion) {
  Program reads;
  reads.add(row(64), kIn, 0, kQ, 0).add(row(128, Element::kF16, Element::kF32), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(reads), 1U);
  Program writes;
  writes.add(row(128, Element::kF32, Element::kF16), kIn, 0, kQ, 0)
      .add(turned(16, 8, 16, 32, Element::kHalf, Element::kHalf), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(writes), 1U);
  Program inWords;
  inWords.add(row(128, Element::kF32, Element::kBf16), kIn, 0, kQ, 0).add(row(64), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(inWords), 1U);
  Program both;
  both.add(row(64, Element::kF32, Element::kF16), kIn, 0, kQ, 0)
      .add(row(64, Element::kF16, Element::kF32), kQ, 0, kOut, 0);
  EXPECT_EQ(unchanged(both), 2U);
  Program cut;
  cut.add(row(64, Element::kF16, Element::kF32), kIn, 0, kQ, 0)
      .add(row(100, Element::kHalf, Element::kHalf), kQ, 2, kOut, 0);
  EXPECT_EQ(unchanged(cut), 2U) << "elements begin in the middle of what was converted";
}

TEST(ForwardCopies, WhatIsNotCoveredStays) {
  Program p;
  p.add(row(64), kIn, 0, kQ, 0).add(row(63), kQ, 8, kOut, 0);
  EXPECT_EQ(elideCopies(p.tile()), p.tile());
}

TEST(ForwardCopies, SourceMustNotChange) {
  Program before;
  before.add(row(64), kIn, 0, kP, 0)
      .add(addition(64), kIn, 256, kP, 0)
      .add(row(64), kP, 0, kQ, 0)
      .add(row(64), kQ, 0, kOut, 0);
  EXPECT_EQ(elided(before), 3U) << "through Q only";
  Program between;
  between.add(row(64), kIn, 0, kP, 0)
      .add(addition(64), kIn, 256, kP, 0)
      .add(row(64), kP, 0, kQ, 0)
      .add(row(8), kIn, 512, kP, 128)
      .add(row(64), kQ, 0, kOut, 0)
      .add(row(64), kP, 0, kOut, 512);
  EXPECT_EQ(unchanged(between), 6U);
  Program tensor;
  tensor.add(row(64), kIn, 0, kOut, 0)
      .add(row(64), kOut, 0, kQ, 0)
      .add(row(64), kIn, 512, kOut, 0)
      .add(row(64), kQ, 0, kOut, 512);
  EXPECT_EQ(unchanged(tensor), 4U) << "tasks may share it";
}

TEST(ForwardCopies, SourcesOfOneStream) {
  Program p;
  p.add(row(64), kIn, 0, kP, 0)
      .add(addition(64), kIn, 256, kP, 0)
      .add(row(32), kP, 0, kQ, 0)
      .add(row(32), kIn, 0, kQ, 128)
      .add(row(64), kQ, 0, kOut, 0);
  EXPECT_EQ(unchanged(p), 5U);
}

TEST(ForwardCopies, SeveralStreamsOfABuffer) {
  Program p;
  p.phase().streams.push_back({"elsewhere", kQ, 64});
  p.add(row(64), kIn, 0, kQ, 0).add(row(16), kIn, 512, 5, 0).add(row(64), kQ, 0, kOut, 0);
  EXPECT_EQ(unchanged(p), 3U);
}

TEST(ForwardCopies, ReadTwice) {
  Program p;
  p.add(row(64), kIn, 0, kP, 0).add(row(64), kP, 0, kOut, 0).add(row(64), kP, 0, kOut, 512);
  EXPECT_EQ(unchanged(p), 3U) << "a copy that pays for itself";
  EXPECT_EQ(elided(p, {[](const Buffer&) { return 2; }}), 2U);
  EXPECT_EQ(elided(p, {[](const Buffer&) { return 0; }}), 3U);
  Program parts;
  parts.add(row(64), kIn, 0, kP, 0).add(row(32), kP, 0, kOut, 0).add(row(32), kP, 128, kOut, 512);
  EXPECT_EQ(elided(parts), 2U) << "each byte once";
  Program again;
  again.add(row(64), kIn, 0, kP, 0)
      .add(row(64), kP, 0, kOut, 0)
      .add(row(64), kIn, 512, kP, 0)
      .add(row(64), kP, 0, kOut, 512);
  EXPECT_EQ(elided(again), 2U) << "once for each time it is written";
}

TEST(ForwardCopies, AReaderThatStaysKeepsTheWriters) {
  Program p;
  p.add(row(64, Element::kF32, Element::kF16), kIn, 0, kQ, 0)
      .add(row(32, Element::kHalf, Element::kHalf), kQ, 0, kOut, 0)
      .add(row(32, Element::kF16, Element::kF32), kQ, 64, kOut, 512);
  EXPECT_EQ(unchanged(p), 3U);
  Program adds;
  adds.add(row(64), kIn, 0, kQ, 0)
      .add(addition(32), kIn, 512, kQ, 0)
      .add(row(32), kQ, 128, kOut, 0)
      .add(row(32), kQ, 0, kOut, 512);
  EXPECT_EQ(unchanged(adds), 4U);
  Program partly;  // one reader of a sum and of a copy beside it
  partly.add(row(32), kIn, 0, kQ, 0)
      .add(row(32), kIn, 256, kQ, 128)
      .add(addition(32), kIn, 512, kQ, 0)
      .add(row(64), kQ, 0, kOut, 0);
  EXPECT_EQ(unchanged(partly), 4U);
}

TEST(ForwardCopies, SumsInOneBuffer) {  // as dW's parts in UB
  Program p;
  p.add(row(64), kIn, 0, kQ, 0)
      .add(row(64), kIn, 512, kQ, 256)
      .add(addition(64), kQ, 256, kQ, 0)
      .add(row(64, Element::kF32, Element::kF16), kQ, 0, kQ, 512)
      .add(row(64, Element::kHalf, Element::kHalf), kQ, 512, kOut, 0);
  EXPECT_EQ(elided(p), 3U) << "load, add, convert and store";
}

TEST(ForwardCopies, RoundingFillsVectors) {
  for (const std::int64_t rows : {8, 16}) {
    Program p;
    p.add(turned(rows, 8, 32, rows * 4), kIn, 0, kQ, 0)
        .add(row(rows * 8, Element::kF32, Element::kHf32), kQ, 0, kOut, 0);
    EXPECT_EQ(elided(p), rows < 16 ? 2U : 1U);
  }
}

// One sum of one product.
Contract oneProduct() {
  Contract c;
  c.accumulators = {{0, {}}};
  AOperand one;
  one.uses = {{0, 0}};
  c.sections = {{{{{{0, {}}}, {one}}}, 0, 0}};
  c.label = "contract";
  return c;
}

TEST(ForwardCopies, ContractsStay) {
  const Contract c = oneProduct();
  Program p;
  p.add(row(64), kIn, 0, kP, 0).add(row(64), kP, 0, kQ, 0).add(row(16), kQ, 128, kOut, 512);
  p.tile().kernels.emplace_back(c);
  p.tile().lists = {{{Segment{0, 0, 1}}}};
  Node node = Program::callOf(3, 0, kQ, 0, kOut, 0);
  node.call.b = kQ;
  p.body().push_back(node);
  EXPECT_EQ(elided(p), 3U) << "from the source to what the contract reads";
}

TEST(ForwardCopies, TwinsStayKernels) {
  const Contract c = oneProduct();
  Contract twin = c;
  twin.streamingStore = true;
  Program p;
  p.add(row(64), kIn, 0, kP, 0).add(row(64), kP, 0, kQ, 0);
  p.tile().kernels.insert(p.tile().kernels.end(), {c, twin});
  p.tile().lists = {{{Segment{0, 0, 1}}}};
  Node node = Program::callOf(2, 0, kQ, 0, kOut, 0);
  node.call.b = kQ;
  node.call.variants.front().aligned = 3;
  p.body().push_back(node);
  const TileProgram after = elideCopies(p.tile());
  const Variant& v = after.phases.front().body.back().call.variants.front();
  ASSERT_EQ(after.kernels.size(), 3U) << "one copy is gone";
  ASSERT_GE(v.aligned, 0);
  EXPECT_EQ(after.kernels[static_cast<std::size_t>(v.aligned)], Kernel(twin));
}

TEST(ForwardCopies, RepetitionsAreNotForwarded) {
  Program p;
  p.add(row(16), kIn, 0, kQ, 0).add(row(16), kQ, 0, kOut, 0);
  p.body()[0].call.place.repeat = p.body()[1].call.place.repeat = 4;
  p.body()[0].call.place.repeatStep = p.body()[1].call.place.repeatStep = {64, 0, 64, 0};
  EXPECT_EQ(unchanged(p), 2U);
}

TEST(ForwardCopies, WindowsOfChoicesFollow) {
  Program p;
  Axis axis;
  axis.name = "kind";
  axis.classes = 2;
  for (int i = 0; i < 2; ++i) axis.steps.push_back({{0, i * 2048}, i, 1, {}});
  p.phase().axes = {axis};
  p.phase().parallelAxes = {0};
  p.add(row(64), kIn, 0, kQ, 0).add(row(64), kQ, 0, kOut, 0).add(zeros(64), -1, 0, kQ, 0);
  p.add(row(64), kIn, 0, kQ, 64).add(row(64), kQ, 64, kOut, 512).add(row(64), kIn, 4, kOut, 1024);
  Node choice;
  choice.classAxes = {0};
  choice.body = std::move(p.body());
  choice.windows = {{0, 2}, {3, 6}};
  p.body() = {choice};
  EXPECT_EQ(elided(p), 4U);
  choice.windows = {{0, 2}, {1, 6}};  // one that does not write what it reads
  p.body() = {choice};
  EXPECT_EQ(elideCopies(p.tile()), p.tile());
}

TEST(ForwardCopies, KeepsTagsAndDropsKernels) {
  Program p;
  p.add(row(64), kIn, 0, kQ, 0).add(row(71), kQ, 0, kOut, 0);
  p.body()[0].call.unit = 0;
  p.body()[1].call.unit = 1;
  p.body()[0].call.issues = p.body()[1].call.issues = true;
  p.add(row(7), kIn, 256, kQ, 256);
  std::swap(p.body()[1], p.body()[2]);
  const TileProgram after = elideCopies(p.tile());
  const std::vector<Node>& body = after.phases.front().body;
  ASSERT_EQ(body.size(), 2U);
  EXPECT_TRUE(body[0].call.issues);
  EXPECT_FALSE(body[1].call.issues);
  for (const Node& node : body) EXPECT_EQ(node.call.unit, 1);
  EXPECT_EQ(after.kernels.size(), 2U);
  EXPECT_EQ(after.buffers, p.tile().buffers);
  EXPECT_EQ(result(after), result(p.tile()));
}

// Moves of all kinds at random places.
TEST(ForwardCopies, RandomMoves) {
  std::mt19937_64 random(5);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int changed = 0;
  for (int i = 0; i < 400; ++i) {
    Program p;
    const int buffers = 1 + static_cast<int>(below(3));
    for (int b = 0; b < buffers; ++b) p.add(zeros(kBytes / 4), -1, 0, kP + b, 0);
    const std::int64_t calls = 2 + below(8);
    for (std::int64_t c = 0; c <= calls; ++c) {
      const Element in = below(2) == 0 ? Element::kF32 : Element::kHalf;
      const Element from = below(3) != 0 ? in : below(2) == 0 ? Element::kF16 : Element::kF32;
      const Element to = from == Element::kF16                    ? Element::kF32
                         : from == Element::kF32 && below(3) == 0 ? Element::kF16
                                                                  : from;
      const bool turns = below(2) != 0;
      const std::int64_t rows = 1 + below(20), cols = 1 + below(20), pad = below(3) == 0 ? below(8) : 0;
      const std::int64_t width = ((turns ? rows : cols) + pad) * elementBytes(to);
      const int a = c == 0 ? kIn : below(3) == 0 ? kIn : kP + static_cast<int>(below(buffers));
      const int target = c == calls ? kOut : kP + static_cast<int>(below(buffers));
      if (a == target) continue;
      const Copy m = rowsOf(rows, cols, cols * elementBytes(from) + below(3) * 4, width + below(3) * 2, from, to, pad);
      p.add(turns ? Kernel(turned(m)) : Kernel(m), a, below(32) * 4, target, below(16) * 4);
    }
    const CopyElision often{[](const Buffer&) { return 9; }};
    if (elideCopies(p.tile(), often) != p.tile()) ++changed;
    elided(p, often);
    elided(p);
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GE(changed, 100);
}

}  // namespace
}  // namespace cubejit
