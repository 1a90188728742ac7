// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that conversions put every element where the index map says, for every pair of layouts and types, and zero the rest.
#include "algorithms/transforms/convert.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "codegen/tile/interpret_program.h"
#include "codegen/tile/isa_rounding.h"
#include "codegen/tile/verify.h"
#include "codegen/tile/walk.h"
#include "cubejit/float16.h"
#include "cubejit/index_map.h"
#include "runtime/verify/format_tensor.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

Problem grouped(std::int64_t groups, std::int64_t cin, std::int64_t cout) {
  return ofGroups(groups, problemOf(2, cin, cout, {2, 3, 5}, {2, 1, 3}, {0, 0, 0}));
}

// Converts through the tile interpreter, which checks that nothing outside the tensors is touched.
void converts(Problem from, Problem to, TensorId t, const TensorFormat& source, const TensorFormat& target) {
  from.formats[static_cast<std::size_t>(t)] = source;
  to.formats[static_cast<std::size_t>(t)] = target;
  std::vector<float> plain;
  std::mt19937 random(3);
  for (std::int64_t i = 0; i < plainElements(from, t); ++i)
    plain.push_back(static_cast<float>(static_cast<int>(random() % 401) - 200));  // exact in every type
  std::vector<char> memory(static_cast<std::size_t>(formatBytes(from, t))),
      wanted(static_cast<std::size_t>(formatBytes(to, t)));
  encodeTensor(from, t, plain, memory.data());
  encodeTensor(to, t, plain, wanted.data());
  for (const auto& [lanes, streams] : {std::pair{8, false}, {16, false}, {8, true}, {16, true}}) {
    std::vector<char> got(wanted.size(), '\x5a');
    const auto done = interpret(conversionProgram(from, to, t, lanes, streams), {memory.data(), got.data()});
    ASSERT_TRUE(done.ok()) << done.error().message;
    ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
        << toString(t) << " " << toString(source.dtype) << " " << toString(source.layout) << " to "
        << toString(target.dtype) << " " << toString(target.layout) << ", groups " << from.groups << ", " << lanes
        << " lanes" << (streams ? ", streaming" : "");
  }
}

TEST(Convert, EveryPairOfLayoutsAndTypes) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBf16};
  for (const auto& [groups, cin, cout] :
       {std::array<std::int64_t, 3>{1, 20, 33}, {1, 1, 16}, {4, 12, 8}, {5, 40, 40}, {20, 20, 20}}) {
    const Problem p = grouped(groups, cin, cout);
    for (const TensorId t : {TensorId::kX, TensorId::kDy, TensorId::kW}) {
      const bool weights = t == TensorId::kW;
      const Layout layouts[] = {Layout::kNcdhw, Layout::kNdhwc, weights ? Layout::kFractalZ3d : Layout::kNdc1hwc0};
      for (const Layout from : layouts) {
        for (const Layout to : layouts) {
          for (const DType fromType : kTypes) {
            for (const DType toType : kTypes) converts(p, p, t, {fromType, from, {}}, {toType, to, {}});
          }
        }
      }
    }
  }
}

// Very many pieces are taken in runs, of which the last may have fewer: all moves together are the tensor, whose size nobody has to have.
TEST(Convert, RunsOfPieces) {
  for (const std::int64_t width :
       {std::int64_t{70'000'001}, std::int64_t{5461} * 256 * 17, std::int64_t{5461} * 4097}) {
    Problem from = grouped(1, 3, 16);
    from.batch = 1;
    from.in = {1, 1, width};
    Problem to = from;
    from.formats[static_cast<std::size_t>(TensorId::kX)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}};
    to.formats[static_cast<std::size_t>(TensorId::kX)] = TensorFormat{DType::kF16, Layout::kNdhwc, {}};
    const auto program = conversionProgram(from, to, TensorId::kX, 16);
    const Status status = verify(program);
    EXPECT_TRUE(status.ok()) << status.error().message;
    std::set<std::int64_t> targets;
    std::int64_t elements = 0;
    int runs = 0;
    for (const Phase& phase : program.phases) {
      for (const Axis& axis : phase.axes) {
        EXPECT_LE(axis.steps.size(), 4096U) << axis.name;
        runs += axis.name == "piece_run" ? 1 : 0;
      }
      walkCalls(phase, [&](const CallSite& site) {
        EXPECT_TRUE(targets.insert(site.at[2]).second);
        elements += std::visit(overloaded{[](const OneOf<Copy, Transpose> auto& m) { return m.rows * m.cols; },
                                          [](const auto&) { return std::int64_t{0}; }},
                               program.kernels[static_cast<std::size_t>(site.variant->kernel)]);
        return true;
      });
    }
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(elements, 3 * width);
  }
}

TEST(Convert, WhatIsReadAsHf32IsRounded) {
  for (const auto& [type, mantissa] : {std::pair{DType::kHf32, 11}, {DType::kHf32Low, 10}}) {
    Problem from = grouped(1, 4, 4), to = from;
    from.formats[static_cast<std::size_t>(TensorId::kDy)] = TensorFormat{type, Layout::kNcdhw, {}, 0};
    to.formats[static_cast<std::size_t>(TensorId::kDy)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}, 0};
    std::vector<float> values(static_cast<std::size_t>(plainElements(from, TensorId::kDy)), 1.2345678F),
        got(values.size());
    const auto done = interpret(conversionProgram(from, to, TensorId::kDy, 8), {values.data(), got.data()});
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(got, std::vector<float>(got.size(), toHf32(1.2345678F, mantissa)));
  }
}

TEST(Convert, StridedViewsAndBlocksOfOtherSizes) {
  const Problem p = grouped(1, 20, 33);
  // x as a transposed view with gaps: w slowest, channels 2 apart.
  const TensorFormat view{DType::kF16, Layout::kNcdhw, {45, 2, 400, 90, 1200}};
  for (const Layout to : {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0})
    converts(p, p, TensorId::kX, view, {DType::kF32, to, {}});
  TensorFormat sixteen{DType::kF32, Layout::kNdc1hwc0, {}};
  sixteen.c0 = 16;
  converts(p, p, TensorId::kX, sixteen, {DType::kF32, Layout::kNdc1hwc0, {}});
  TensorFormat weights{DType::kF32, Layout::kFractalZ3d, {}};
  weights.c0 = 16;
  converts(p, p, TensorId::kW, {DType::kF16, Layout::kNcdhw, {}}, weights);
}

// What is rounded to bf16 gets the ISA's rounding, what keeps its bits does not; other ISAs keep theirs.
TEST(IsaRounding, OnlyWhatIsRoundedChanges) {
  TileProgram program;
  const Copy rounds{.to = Element::kBf16}, keeps{.from = Element::kBf16, .to = Element::kBf16};
  Contract contract;
  contract.result = Element::kBf16;
  program.kernels = {rounds, keeps, contract};
  TileProgram same = program;
  useIsaRounding(same, avx512Isa());
  EXPECT_EQ(same, program);
  useIsaRounding(program, avx512Bf16Isa());
  EXPECT_EQ(std::get<Copy>(program.kernels[0]).to, Element::kBf16Flushed);
  EXPECT_EQ(std::get<Copy>(program.kernels[1]).to, Element::kBf16);
  EXPECT_EQ(std::get<Contract>(program.kernels[2]).result, Element::kBf16Flushed);
}

}  // namespace
}  // namespace cubejit
