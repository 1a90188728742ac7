// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether a tile instruction keeps its meaning on the whole way down: tile interpreter, vector interpreter before and
// after legalisation, and generated code, bit by bit, for random contracts and moves of every kind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "codegen/backend.h"
#include "codegen/tile/interpret.h"
#include "codegen/tile/matrix.h"
#include "codegen/tile/segment_words.h"
#include "codegen/tile/touch.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "codegen/vectorize.h"
#include "tests/support/fenced_memory.h"
#include "tests/support/kernel_agreement.h"
#include "tests/support/run_code.h"

namespace cubejit {
namespace {

class Units : public testing::TestWithParam<IsaLevel> {
 protected:
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  std::int16_t below16(int n) { return static_cast<std::int16_t>(below(n)); }
  HostIsa isa() const { return isaOf(GetParam()); }
  LaneRange someLanes() {
    if (!masks_ || below(3) > 0) return {};
    if (below(3) == 0) return {0, static_cast<std::int16_t>(isa().lanes() >> (1 + below(2)))};  // a narrower register's
    const int hi = 1 + below(isa().lanes());
    return {below16(hi), static_cast<std::int16_t>(hi)};
  }

  AOperand randomOperand(const Contract& c, int vectors) {
    AOperand a;
    a.kind = static_cast<AKind>(below(c.tables.empty() ? 2 : 4));
    a.offset = 4 * below(100);
    a.offset2 = 4 * below(100);
    if (a.kind != AKind::kBroadcast) a.lanes = someLanes();
    if (a.kind == AKind::kPermute2) a.lanes2 = someLanes();
    if (a.kind == AKind::kPermute) a.table = 0;
    if (a.kind == AKind::kPermute2) a.table = below16(static_cast<int>(c.tables.size()));
    a.useLanes = someLanes();
    if (c.combine != Combine::kSum || (c.products == Products::kF32 && below(4) == 0))
      a = {.kind = AKind::kOne, .useLanes = a.useLanes};
    if (c.products == Products::kQuads) a.kind = AKind::kBroadcast, a.lanes = a.useLanes = {};
    for (int u = 1 + below(4); u > 0; --u)
      a.uses.push_back({below16(static_cast<int>(c.accumulators.size())), below16(vectors)});
    return a;
  }

  Contract randomContract() {
    constexpr Element kValues[] = {Element::kF32, Element::kF16, Element::kBf16, Element::kI32, Element::kI8};
    const int lanes = isa().lanes(), vectors = 1 + below(4);
    Contract c;
    c.lanes = lanes;
    c.label = "random";
    masks_ = below(2) == 0;
    for (int i = 1 + below(isa().vectorRegs - 10); i > 0; --i)
      c.accumulators.push_back({static_cast<std::int32_t>(c.accumulators.size()) * lanes * 4, someLanes()});
    for (int t = below(4); t > 0; --t) {
      auto& table = c.tables.emplace_back();  // the first picks from one source only
      for (int l = 0; l < lanes; ++l) table.push_back(below(c.tables.size() == 1 ? lanes : 2 * lanes));
    }
    if (c.tables.empty()) {
      c.result = kValues[below(5)];
      if (isa().bf16Dot && below(2) == 0) c.products = below(2) == 0 ? Products::kQuads : Products::kPairs;
      if (c.products == Products::kPairs && below(2) == 0) {
        c.vectorsB = Element::kPair;
        c.pairPitchB = 2 * (1 + below(60));
        while (c.accumulators.size() < 28U && below(8) > 0)  // down to the last registers that pairs can be formed with
          c.accumulators.push_back({static_cast<std::int32_t>(c.accumulators.size()) * lanes * 4, someLanes()});
      }
      if (c.products == Products::kQuads)  // each of them may take another register for what is subtracted from it
        c.accumulators.resize(std::min<std::size_t>(c.accumulators.size(), 8));
      if (c.result != Element::kF32) {  // rounding needs three registers
        c.accumulators.resize(
            std::min<std::size_t>(c.accumulators.size(), static_cast<std::size_t>(isa().vectorRegs - 6)));
        for (std::size_t i = 0; i < c.accumulators.size(); ++i)
          c.accumulators[i].cOffset =
              static_cast<std::int32_t>(i) * lanes * static_cast<std::int32_t>(elementBytes(c.result));
      }
    }
    if (c.products == Products::kF32) c.combine = static_cast<Combine>(1 + below(kCombines - 1));
    if (c.combine != Combine::kSum) c.vectorsB = kValues[below(5)];
    c.sets = std::max(1, std::min(1 + below(4), (isa().vectorRegs - 10) / static_cast<int>(c.accumulators.size())));
    c.copiesB = below(3) == 0;
    if (c.products == Products::kQuads) c.sets = std::min(c.sets, 2);
    c.addsToC = c.products != Products::kQuads && below(2) == 0;
    for (int s = 1 + below(2); s > 0; --s) {
      Section& section = c.sections.emplace_back();
      section.aOuterStep = 4 * below(8);
      section.bOuterStep = 4 * below(8);
      for (int k = 1 + below(3); k > 0; --k) {
        Step& step = section.steps.emplace_back();
        step.firstMembers = c.products == Products::kPairs && below(3) == 0;
        for (int b = 0; b < vectors; ++b) {
          const bool behind = c.vectorsB == Element::kPair && b > 0 && below(3) > 0;
          step.b.push_back({behind ? step.b.back().offset + 2 * lanes : 4 * below(100), someLanes()});
        }
        for (int a = 1 + below(4); a > 0; --a) step.a.push_back(randomOperand(c, vectors));
      }
    }
    return c;
  }

  Kernel randomMove(int mostRows, int mostCols) {
    const int kind = below(5);
    const bool transposes = kind == 1, converts = kind < 2;
    Copy m{.lanes = isa().lanes(), .rows = 1 + below(mostRows), .label = "random"};
    m.cols = kind == 4 ? m.lanes : 1 + below(mostCols);
    m.padCols = converts ? below(20) : 0;
    if (converts && below(2) == 0) randomTypes(m, transposes);
    m.srcPitch = elementBytes(m.from) * (m.cols + below(4));
    m.dstPitch = elementBytes(m.to) * ((transposes ? m.rows : m.cols) + m.padCols + below(4));
    if (below(4) == 0) {  // rows that follow each other
      m.padCols = 0;
      m.srcPitch = elementBytes(m.from) * m.cols;
      m.dstPitch = elementBytes(m.to) * (transposes ? m.rows : m.cols);
    }
    switch (kind) {
      case 0: return m;
      case 1: return turned(m);
      case 2: return Fill{.lanes = m.lanes, .rows = m.rows, .cols = m.cols, .dstPitch = m.dstPitch, .label = m.label};
      case 3: return sumOf(m);
      default: {
        const auto how = static_cast<Combine>(1 + below(kCombines - 1));
        return LaneReduce{.lanes = m.lanes, .rows = m.rows, .srcPitch = m.srcPitch, .combine = how, .label = m.label};
      }
    }
  }
  // Adds what a copy of f32 would store.
  static Accumulate sumOf(const Copy& m) {
    return {.lanes = m.lanes,
            .rows = m.rows,
            .cols = m.cols,
            .srcPitch = m.srcPitch,
            .dstPitch = m.dstPitch,
            .label = m.label};
  }

  void randomTypes(Copy& m, bool transposes) {
    m.from = static_cast<Element>(below(static_cast<int>(Element::kQuad) + (transposes ? 0 : 1)));
    m.to = static_cast<Element>(below(static_cast<int>(Element::kHalf) + 1));
    if (m.from == Element::kPair) m.pairPitch = 2 * below(20);
    if (m.from == Element::kPair && below(2) == 0)
      m.pairsCut = below(1 + static_cast<int>(transposes ? m.cols : m.rows));
    if (m.from == Element::kQuad) m.pairPitch = 1 + below(40), m.pairsCut = below(4);
    if (m.from == Element::kPair || m.from == Element::kQuad || (m.from == Element::kHalf && below(2) == 0))
      m.to = Element::kF32;
    else if (m.from == Element::kHalf || m.to == Element::kHalf)
      m.from = m.to = Element::kHalf;
  }

  // The matrices of a move.
  static MatrixLines source(const Kernel& kernel) {
    return std::visit(overloaded{[](const MatrixKernel auto& m) { return sourceOf(m); },
                                 [](const OneOf<Contract, TileProduct> auto&) { return MatrixLines{}; }},
                      kernel);
  }
  static MatrixLines target(const Kernel& kernel) {
    return std::visit(overloaded{[](const MatrixKernel auto& m) { return targetOf(m); },
                                 [](const OneOf<Contract, TileProduct> auto&) { return MatrixLines{}; }},
                      kernel);
  }

  std::vector<std::int64_t> randomList(const Contract& c) {
    std::vector<std::int64_t> list;
    for (std::size_t s = 0; s < c.sections.size(); ++s) list.push_back(below(4));
    const std::vector<std::int64_t> counts = list;
    for (const std::int64_t count : counts) {
      for (std::int64_t k = 0; k < count; ++k) list.insert(list.end(), {4 * below(50), 4 * below(50), below(4)});
    }
    return list;
  }

  // The last words of c are guards nobody may write.
  void agree(const Kernel& kernel, const KernelArgs& args, const std::vector<float>& c, std::size_t d = 0) {
    agreeInBits(kernel, GetParam(), args, c, d);
  }

  // Runs the code where the bytes it is said to touch end, or begin, at unreadable pages: one byte more, and the test dies.
  void staysInside(const Kernel& kernel, const SegmentList* list, KernelArgs args) {
    if (!hostRuns(GetParam())) return;
    const auto program = vectorize(kernel, isa());
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto legal = legalize(*program);
    ASSERT_TRUE(legal.ok()) << legal.error().message;
    const auto code = emitXbyak(*legal);
    ASSERT_TRUE(code.ok()) << code.error().message;
    const std::array<ByteRange, 4> touched = extents(kernel, list);
    for (const Fence fence : {Fence::kBefore, Fence::kBehind}) {
      const FencedMemory a(touched[0].end - touched[0].begin, fence), b(touched[1].end - touched[1].begin, fence);
      const FencedMemory c(touched[2].end - touched[2].begin, fence);
      args.a = a.data() - touched[0].begin;
      args.b = b.data() - touched[1].begin;
      args.c = c.data() - touched[2].begin;
      const FencedMemory d(touched[3].end - touched[3].begin, fence);
      args.d = d.data() - touched[3].begin;
      const auto* contract = std::get_if<Contract>(&kernel);
      const std::int64_t ways = contract != nullptr && contract->result != Element::kF32 ? 1 : 2;
      for (args.accumulate = 0; args.accumulate < ways; ++args.accumulate) ASSERT_TRUE(runCode(*code, args));
    }
  }

  std::vector<float> randomFloats(std::size_t count) {
    std::uniform_real_distribution<float> real(-1, 1);
    std::vector<float> floats(count);
    for (float& f : floats) f = real(rng_);
    return floats;
  }

  static constexpr float kEdges[] = {NAN, INFINITY, -INFINITY, 0.0F, -0.0F};
  std::mt19937 rng_{2};
  bool masks_ = true;
};

TEST_P(Units, RandomContractsAgree) {
  const std::vector<float> a = randomFloats(4000), b = randomFloats(4000);
  std::vector<float> pairs(4000);  // both members are sound numbers
  for (std::size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = floatOf(floatToBf16(a[i]) | static_cast<std::uint32_t>(floatToBf16(b[i])) << 16);
  std::vector<float> compared = a;  // with what minima and maxima pass over, and what compares as equal
  for (std::size_t i = 0; i < compared.size(); i += 1 + static_cast<std::size_t>(below(4)))
    compared[i] = kEdges[below(5)];
  int others = 0;
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    const Contract contract = randomContract();
    const bool sums = contract.combine == Combine::kSum;
    others += sums ? 0 : 1;
    const std::vector<std::int64_t> list = randomList(contract);
    const auto words = static_cast<std::int64_t>(contract.accumulators.size()) * contract.lanes;
    KernelArgs args;
    args.a = contract.products != Products::kF32 ? pairs.data() : a.data();
    args.b = contract.products != Products::kF32 ? pairs.data() : sums ? b.data() : compared.data();
    args.list = list.data();
    args.repeat = below(4);
    args.aRepeat = 16;
    args.bRepeat = 20;
    args.cRepeat = words * 4;
    const bool keeps = contract.products == Products::kQuads ? contract.keepsInts() : contract.result == Element::kF32;
    args.accumulate = keeps ? below(2) : 0;
    // Of two sections, three segments each, three iterations, three steps, four vectors.
    const std::int64_t copies = std::int64_t{2} * 3 * 3 * 3 * 4 * contract.lanes;
    std::vector<float> c = randomFloats(static_cast<std::size_t>(3 * words + copies + 64));
    for (std::size_t i = 0; !sums && i < c.size(); i += 1 + static_cast<std::size_t>(below(9))) c[i] = kEdges[below(5)];
    agree(contract, args, c, static_cast<std::size_t>(3 * words));
  }
  EXPECT_GT(others, 100);
}

// Second members that are no numbers: masking one side of a product would not be enough.
TEST_P(Units, FirstMembersAloneAreMultiplied) {
  if (!isa().bf16Dot) GTEST_SKIP() << toString(GetParam()) << " has no dot products";
  std::vector<float> pairs = randomFloats(4000);
  for (float& pair : pairs) pair = floatOf(floatToBf16(pair) | 0x7fc00000U);
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    Contract contract = randomContract();
    if (contract.products != Products::kPairs || contract.vectorsB == Element::kPair) continue;
    for (Section& section : contract.sections) {
      for (Step& step : section.steps) step.firstMembers = true;
    }
    const std::vector<std::int64_t> list = randomList(contract);
    const auto words = static_cast<std::int64_t>(contract.accumulators.size()) * contract.lanes;
    KernelArgs args;
    args.a = args.b = pairs.data();
    args.list = list.data();
    args.repeat = 1;
    const std::vector<float> none(static_cast<std::size_t>(words + std::int64_t{2} * 3 * 3 * 4 * contract.lanes + 64));
    agree(contract, args, none, static_cast<std::size_t>(words));
  }
}

TEST_P(Units, ContractsTouchOnlyTheirLanes) {
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    const Contract contract = randomContract();
    const std::vector<std::int64_t> words = randomList(contract);
    SegmentList list(contract.sections.size());
    std::size_t at = contract.sections.size();
    for (std::size_t s = 0; s < list.size(); ++s) {
      for (std::int64_t i = 0; i < words[s]; ++i, at += 3) list[s].push_back({words[at], words[at + 1], words[at + 2]});
    }
    KernelArgs args;
    args.list = words.data();
    staysInside(contract, &list, args);
  }
}

TEST_P(Units, MovesTouchOnlyTheirMatrices) {
  for (int n = 0; n < 400 && !HasFailure(); ++n) {
    staysInside(randomMove(n % 4 == 0 ? 6 : 40, n % 4 == 1 ? 6 : 40), nullptr, KernelArgs{});
  }
}

TEST_P(Units, RandomMovesAgree) {
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    const Kernel m = randomMove(40, n % 10 == 0 ? 400 : 40);
    const MatrixLines from = source(m), to = target(m);
    const std::int64_t written = to.lines * std::max(to.pitch, to.lineBytes());
    const std::vector<float> memory = randomFloats(static_cast<std::size_t>(2 * from.lines * from.pitch / 4 + 16 + 40));
    KernelArgs args;
    args.a = memory.data();
    args.repeat = below(3);
    args.aRepeat = from.lines * from.pitch;
    args.cRepeat = written;
    agree(m, args, randomFloats(static_cast<std::size_t>(2 * args.cRepeat / 4 + 64)));
  }
}

// Of lists: segments of every length, none among them, matrices any distance apart.
TEST_P(Units, RandomListedMovesAgree) {
  for (int n = 0; n < 600 && !HasFailure(); ++n) {
    Kernel m = randomMove(20, 40);
    const MatrixLines from = source(m), to = target(m);
    const std::int64_t rows = from.lines * from.pitch, lines = to.lines * to.pitch;
    const std::int64_t in = from.element, out = to.element;
    const ListSteps steps{in * below(40), (lines + out * below(3)) / 4 * 4};
    const bool listed =
        std::visit(overloaded{[&](OneOf<Copy, Transpose, Fill, Accumulate> auto& k) {
                                k.list = steps;
                                return true;
                              },
                              [](const OneOf<Contract, TileProduct, LaneReduce, Map> auto&) { return false; }},
                   m);
    if (!listed) continue;
    SegmentList list(1);
    for (int i = below(4); i > 0; --i) list.front().push_back({in * below(50), out * below(50), below(4)});
    const std::vector<std::int64_t> words = segmentWords(list);
    const std::vector<float> memory = randomFloats(static_cast<std::size_t>(rows / 4 + 4 * 40 + 50 + 64));
    KernelArgs args;
    args.a = memory.data();
    args.list = words.data();
    agree(m, args, randomFloats(static_cast<std::size_t>((lines + 4 * (steps.c + 200)) / 4 + 128)));
    if (n % 4 == 0 && !list.front().empty()) staysInside(m, &list, args);
  }
}

// Few rows or columns, dense and not, of words and of halves: each takes a way of its own through the unit.
TEST_P(Units, NarrowMovesAgree) {
  const std::vector<float> memory = randomFloats(40000);
  const auto narrow = [&](bool pads, bool turns, const auto& kernelOf, Element element = Element::kF32) {
    const std::int64_t bytes = elementBytes(element);
    for (const std::int64_t few : {1, 2, 3, 4, 5, 6, 7}) {
      for (const std::int64_t many : {1, 2, 7, 8, 9, 16, 17, 31, 32, 100, 288}) {
        for (int form = 0; form < (pads ? 12 : 8) && !HasFailure(); ++form) {
          Copy m{.lanes = isa().lanes(), .rows = form & 1 ? few : many, .cols = form & 1 ? many : few};
          m.padCols = form / 8 + (form & 8 ? form / 2 % 2 : 0);
          m.srcPitch = bytes * (m.cols + (form & 2 ? 3 : 0));
          m.dstPitch = bytes * ((turns ? m.rows : m.cols) + m.padCols + (form & 4 ? 5 : 0));
          m.from = m.to = element;
          m.label = "narrow";
          KernelArgs args;
          args.a = memory.data();
          args.repeat = 2;
          args.aRepeat = 4;
          args.cRepeat = (turns ? m.cols : m.rows) * m.dstPitch;
          agree(kernelOf(m), args, randomFloats(static_cast<std::size_t>(2 * args.cRepeat / 4 + 64)));
        }
      }
    }
  };
  for (const Element element : {Element::kF32, Element::kHalf, Element::kI8}) {
    narrow(true, false, [](const Copy& m) { return m; }, element);
    narrow(true, true, [](const Copy& m) { return turned(m); }, element);
  }
  narrow(false, false, [](const Copy& m) {
    return Fill{.lanes = m.lanes, .rows = m.rows, .cols = m.cols, .dstPitch = m.dstPitch, .label = m.label};
  });
  narrow(false, false, sumOf);
}

// Rows of the destination that share sets of L1 are written a few at a time.
TEST_P(Units, TransposesToRowsPagesApartAgree) {
  const std::vector<float> memory = randomFloats(60 * 80);
  for (const std::int64_t pitch : {1024, 2048, 4096, 4096 + 1024, 8192}) {
    for (const std::int64_t rows : {16, 17, 32, 45}) {
      for (const std::int64_t cols : {8, 16, 17, 33, 71}) {
        for (const Element to : {Element::kF32, Element::kBf16, Element::kF16}) {
          const Transpose m{.lanes = isa().lanes(),
                            .rows = rows,
                            .cols = cols,
                            .srcPitch = 4 * 72,
                            .dstPitch = pitch,
                            .to = to,
                            .label = "far_rows"};
          KernelArgs args;
          args.a = memory.data();
          args.repeat = 2;
          args.aRepeat = 4;
          args.cRepeat = 256;
          agree(m, args, randomFloats(static_cast<std::size_t>(cols * pitch / 4 + 128)));
          if (HasFailure()) return;
        }
      }
    }
  }
}

// A scalar that some lanes of a vector take and then others: it is loaded once.
TEST_P(Units, OneScalarForManyLaneRangesAgrees) {
  const std::vector<float> a = randomFloats(64), b = randomFloats(512);
  const auto half = static_cast<std::int16_t>(isa().lanes() / 2), all = static_cast<std::int16_t>(isa().lanes());
  const std::vector<LaneRange> ranges = {{}, {0, half}, {1, all}, {half, all}};
  for (std::size_t first = 0; first < ranges.size(); ++first) {
    Contract c;
    c.lanes = isa().lanes();
    c.label = "one_scalar";
    Section& section = c.sections.emplace_back();
    section.aOuterStep = 16;
    section.bOuterStep = 4 * c.lanes;
    Step& step = section.steps.emplace_back();
    for (int v = 0; v < 3; ++v) step.b.push_back({4 * c.lanes * v, {}});
    for (const std::int32_t offset : {0, 4}) {
      for (std::size_t i = 0; i < 3; ++i) {
        AOperand& operand = step.a.emplace_back();
        operand.offset = offset;
        operand.useLanes = ranges[(first + i) % ranges.size()];
        operand.uses.push_back({static_cast<std::int16_t>(c.accumulators.size()), static_cast<std::int16_t>(i)});
        c.accumulators.push_back({static_cast<std::int32_t>(c.accumulators.size()) * c.lanes * 4, {}});
      }
    }
    const std::vector<std::int64_t> list = {2, 0, 0, 3, 16, 64, 2};
    KernelArgs args;
    args.a = a.data();
    args.b = b.data();
    args.list = list.data();
    args.accumulate = 1;
    agree(c, args, randomFloats(c.accumulators.size() * static_cast<std::size_t>(c.lanes) + 64));
  }
}

// The register tiles that reach the FMA peak, see the design's table: `rows` broadcasts times `columns` vectors.
TEST_P(Units, RegisterTilesFit) {
  const std::vector<std::pair<int, int>> avx512 = {{6, 4}, {9, 3}, {14, 2}, {28, 1}, {30, 1}, {4, 5}, {3, 8}};
  const std::vector<std::pair<int, int>> avx2 = {{6, 2}, {4, 3}, {12, 1}, {13, 1}};
  const std::vector<float> a = randomFloats(4000), b = randomFloats(4000);
  for (const auto& [rows, columns] : isa().vectorBits == 512 ? avx512 : avx2) {
    Contract c;
    c.lanes = isa().lanes();
    c.label = std::to_string(rows) + "x" + std::to_string(columns);
    Section& section = c.sections.emplace_back();
    section.aOuterStep = 16;
    section.bOuterStep = 4 * columns * c.lanes;
    Step& step = section.steps.emplace_back();
    for (int v = 0; v < columns; ++v) step.b.push_back({4 * c.lanes * v, {}});
    for (int r = 0; r < rows; ++r) {
      AOperand& operand = step.a.emplace_back();
      operand.offset = 64 * r;
      for (int v = 0; v < columns; ++v) {
        operand.uses.push_back({static_cast<std::int16_t>(c.accumulators.size()), static_cast<std::int16_t>(v)});
        c.accumulators.push_back({static_cast<std::int32_t>(c.accumulators.size()) * c.lanes * 4, {}});
      }
    }
    const std::vector<std::int64_t> list = {2, 0, 0, 3, 16, 64, 2};
    KernelArgs args;
    args.a = a.data();
    args.b = b.data();
    args.list = list.data();
    args.accumulate = 1;
    agree(c, args, randomFloats(c.accumulators.size() * static_cast<std::size_t>(c.lanes) + 64));
  }
}

TEST_P(Units, TooManyAccumulatorsAreRefused) {
  Contract c;
  c.lanes = isa().lanes();
  c.label = "too_many";
  for (int i = 0; i <= isa().vectorRegs; ++i) c.accumulators.push_back({64 * i, {}});
  const auto program = vectorize(c, isa());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(program.error().message.find(std::to_string(isa().vectorRegs + 1)), std::string::npos)
      << program.error().message;
}

TEST_P(Units, KernelsThatMeanNothingAreRefused) {
  Contract c;
  c.lanes = isa().lanes();
  c.label = "empty";
  EXPECT_FALSE(vectorize(c, isa()).ok());
  c.accumulators.push_back({});
  EXPECT_TRUE(vectorize(c, isa()).ok());
  c.lanes = 24 - isa().lanes();  // the other ISA's
  const auto program = vectorize(c, isa());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::kInternal);
  EXPECT_EQ(program.error().stage, Stage::kVector);
}

INSTANTIATE_TEST_SUITE_P(Isa, Units, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                         [](const auto& level) { return std::string(toString(level.param)); });

}  // namespace
}  // namespace cubejit
