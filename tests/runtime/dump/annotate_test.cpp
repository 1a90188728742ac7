// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/dump/annotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/lower.h"
#include "codegen/backend.h"
#include "codegen/disassemble.h"
#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/listing.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "codegen/vectorize.h"
#include "cubejit/index_map.h"
#include "runtime/dump/explain.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// dX of the example in docs/design.md: a 1x1 convolution, 16 channels to 16, 4 pixels.
struct Example {
  std::shared_ptr<const TensorElements> elements;
  TileProgram tile;
  std::vector<VectorProgram> vectors;
  std::vector<Annotation> annotations;
  std::size_t contract = 0;

  KernelStory story() const {
    return {*elements, tile, static_cast<int>(contract), vectors[contract], annotations[contract]};
  }
};

Problem pointwise(std::int64_t channels) {
  Problem p;
  p.rank = 2;
  p.cin = p.cout = channels;
  p.in = p.out = {1, 1, 4};
  return p;
}

Machine machineOf(const HostIsa& isa) { return hostMachine(isa, 1, 32768, 1 << 20, 32 << 20); }

Example exampleOf(const HostIsa& isa, const Problem& problem, const TilingPlan& plan) {
  Example e;
  e.elements = elementsOf(problem);
  const auto tile = lower(problem, plan, machineOf(isa));
  EXPECT_TRUE(tile.ok());
  e.tile = *tile;
  for (std::size_t k = 0; k < e.tile.kernels.size(); ++k) {
    const auto vector = vectorize(e.tile.kernels[k], isa);
    EXPECT_TRUE(vector.ok());
    const auto legal = legalize(*vector);
    EXPECT_TRUE(legal.ok());
    e.vectors.push_back(*legal);
    if (std::holds_alternative<Contract>(e.tile.kernels[k])) e.contract = k;
  }
  e.annotations = annotate(*e.elements, e.tile, e.vectors);
  return e;
}

Example exampleOf(const HostIsa& isa, std::int64_t channels) {
  const Problem problem = pointwise(channels);
  const auto plan = choosePlan(problem, Pass::kDx, machineOf(isa), false, WeightsUse::kEachRun, "direct");
  EXPECT_TRUE(plan.ok());
  return exampleOf(isa, problem, plan->plan);
}

TEST(Annotate, EveryOperandOfAContractIsAnElement) {
  for (const HostIsa& isa : {avx2Isa(), avx512Isa()}) {
    const Example e = exampleOf(isa, 16);
    const Annotation& a = e.annotations[e.contract];
    ASSERT_FALSE(a.accumulators.empty());
    std::size_t touched = 0;
    for (std::size_t i = 0; i < a.touches.size(); ++i) {
      if (!a.touches[i]) continue;
      ++touched;
      EXPECT_TRUE(a.touches[i]->isTensor) << i;
    }
    EXPECT_GT(touched, a.accumulators.size());
    for (const AccumulatorFact& acc : a.accumulators) {
      EXPECT_EQ(e.tile.buffers[static_cast<std::size_t>(acc.result.buffer)].boundName(), "dx");
      EXPECT_EQ(acc.result.lanes, isa.lanes());
      EXPECT_EQ(acc.result.laneAxis, 1) << "lanes are channels";
    }
  }
}

// The multiplications of one inner iteration, by coordinates: dx[c w] += w[o i=c] * dy[o w].
// What a kernel copies, and what another one reads of that, is named by the element it came from.
TEST(Explain, CopiesAreNamedByWhatTheyHold) {
  Problem problem = pointwise(64);
  problem.layout = Layout::kNdhwc;
  TilingPlan plan = with(defaultPlan("direct", Pass::kDw), "pack_b", "first_use");
  plan = with(with(plan, "register_rows", 4), "reduction_h", 4);
  Example e = exampleOf(avx512Isa(), problem, plan);
  std::size_t writes = 0, products = 0;
  for (e.contract = 0; e.contract < e.tile.kernels.size(); ++e.contract) {
    const bool copies = std::get<Contract>(e.tile.kernels[e.contract]).copiesB;
    for (const std::string& phrase : phrases(e.story())) {
      writes += copies && phrase.find("a copy of x[c0..15") == 0 ? 1 : 0;
      products += !copies && phrase.find(" += x[c0..15") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(writes, 0U);
  EXPECT_GT(products, 0U);
}

TEST(Explain, ProductsBelongTogether) {
  const Example e = exampleOf(avx512Isa(), 16);
  const std::vector<std::string> said = phrases(e.story());
  std::size_t products = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i].find(" += ") == std::string::npos) continue;
    ++products;
    EXPECT_THAT(said[i], HasSubstr("dx[c0..15 w"));
    EXPECT_THAT(said[i], HasSubstr(" i0..15"));
    EXPECT_THAT(said[i], HasSubstr("dy[c"));
    // The pixel of the result is the pixel of the operand, the output channel of w is the channel of dy.
    const auto after = [&](const std::string& what, std::size_t from) {
      const std::size_t at = said[i].find(what, from) + what.size();
      return said[i].substr(at, said[i].find_first_of(" ]+", at) - at);
    };
    const std::size_t dy = said[i].find("dy[");
    EXPECT_EQ(after(" w", 0), after(" w", dy)) << said[i];
    EXPECT_EQ(after("w[o", 0), after("dy[c", dy)) << said[i];
  }
  EXPECT_GT(products, 0U);
}

TEST(Explain, DotProductsNameTheFirstOfEachPair) {
  Problem problem = pointwise(16);
  problem.dtype = DType::kBf16;
  const HostIsa isa = avx512Bf16Isa();
  const auto plan = choosePlan(problem, Pass::kDx, machineOf(isa), false, WeightsUse::kEachRun, "direct");
  ASSERT_TRUE(plan.ok());
  const Example e = exampleOf(isa, problem, plan->plan);
  const std::vector<std::string> said = phrases(e.story());
  std::size_t dots = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (print(e.story().vector.code[i]).rfind("dot", 0) != 0) continue;
    ++dots;
    EXPECT_THAT(said[i],
                MatchesRegex("dx\\[.*\\] \\+= .*(w\\[o.*dy\\[c|dy\\[c.*w\\[o).*, and the product of their partners"));
  }
  EXPECT_GT(dots, 0U);
}

TEST(Explain, LoopsAndHeadSayWhatTheCallIs) {
  const Example e = exampleOf(avx512Isa(), 64);
  const std::vector<std::string> loops = loopLines(e.story());
  EXPECT_EQ(loops.size(), e.annotations[e.contract].trace.loops.size());
  EXPECT_THAT(loops[0], HasSubstr("repetitions of the whole"));
  std::string all;
  for (const std::string& line : headLines(e.story())) all += line + "\n";
  EXPECT_THAT(all, HasSubstr("A = dy"));
  EXPECT_THAT(all, HasSubstr("v0 sums dx["));
  EXPECT_THAT(all, HasSubstr("of phase"));
}

// Tensors of kernels may be called as a convolution's are, and have any strides; what let names is laid out for the ISA.
TEST(TensorElements, OfKernelsAreTheirOwn) {
  const auto kernel = lang::parse(
      "cubejit kernel 1\nkernel k\ninput x f32 [2, 3, 4] strides [1, 40, 10]\ninput w f32 [4] strides [0]\noutput dx "
      "bf16 [3, 4]\n"
      "index j in 4\nparallel i in 3 by 2\n  let e[i, j] = x[1, i, j] * 2\n  dx[i, j] = e[i, j] + w[j]\n",
      {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto elements = elementsOf(*kernel, avx512Isa());
  const auto at = [&](const char* name, Buffer::Use use, std::int64_t offset) {
    return elements->elementAt(Buffer{name, use, 0, {}}, offset).value_or(ElementPlace{-1});
  };
  const ElementPlace none{-1};
  EXPECT_EQ(at("x", Buffer::Use::kInput, (1 + 2 * 40 + 3 * 10) * 4), (ElementPlace{1, 2, 3}));
  EXPECT_EQ(at("x", Buffer::Use::kInput, 2 * 4), none) << "between elements";
  EXPECT_EQ(at("x", Buffer::Use::kInput, 3), none);
  EXPECT_EQ(at("x", Buffer::Use::kInput, (2 + 2 * 40 + 3 * 10) * 4), none);
  EXPECT_EQ(at("w", Buffer::Use::kInput, 0), ElementPlace{0});
  EXPECT_EQ(at("dx", Buffer::Use::kOutput, 5 * 2), (ElementPlace{1, 1}));
  EXPECT_EQ(at("e", Buffer::Use::kPrivate, 17 * 4), (ElementPlace{1, 1})) << "rows are filled up to vectors";
  EXPECT_EQ(at("dy", Buffer::Use::kInput, 0), none);
  EXPECT_EQ(elements->axesOf(Buffer{"x", Buffer::Use::kInput, 0, {}})->names,
            (std::vector<std::string>{"d0", "i", "j"}));
}

// What is computed is another element than the one it was computed from; a copy is the same.
TEST(TensorElements, KernelsFollowCopiesAlone) {
  const HostIsa isa = avx512Isa();
  const auto kernel = lang::parse(
      "cubejit kernel 1\nkernel k\ninput X f32 [4, 32]\noutput Y f32 [32, 4]\nindex j in 32\nparallel i in 4 by 4\n"
      "  let turned[j, i] = X[i, j]\n  let e[j, i] = exp(turned[j, i])\n  Y[j, i] = e[j, i] * turned[j, i]\n",
      {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto tile = lang::lower(*kernel, isa);
  ASSERT_TRUE(tile.ok()) << tile.error().message;
  std::vector<VectorProgram> vectors;
  for (const Kernel& k : tile->kernels) vectors.push_back(*legalize(*vectorize(k, isa)));
  const auto elements = elementsOf(*kernel, isa);
  const std::vector<Annotation> known = annotate(*elements, *tile, vectors);
  std::string said;
  for (std::size_t k = 0; k < known.size(); ++k) {
    for (const std::string& line : phrases({*elements, *tile, static_cast<int>(k), vectors[k], known[k]}))
      said += line + "\n";
  }
  for (const char* phrase : {"X[0..3, 0", "e[0", "Y[0"}) EXPECT_THAT(said, HasSubstr(phrase));
  EXPECT_THAT(said, testing::Not(HasSubstr("turned")));
}

TEST(Listing, ShowsOpsAboveTheirInstructionsAndCountsItsLines) {
  const Example e = exampleOf(avx512Isa(), 16);
  const auto code = emitXbyak(e.vectors[e.contract]);
  ASSERT_TRUE(code.ok());
  const auto instructions = decode(*code);
  ASSERT_TRUE(instructions.ok());
  const Listing listing = layOut(*code, *instructions, notesOf(e.story()));
  ASSERT_EQ(listing.lines.size(), instructions->size());
  std::vector<std::string> lines{""};
  for (const char c : listing.text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  char offset[8];
  for (const auto& [at, line] : listing.lines) {
    std::snprintf(offset, sizeof offset, "%05x", static_cast<unsigned>(at));
    EXPECT_THAT(lines[static_cast<std::size_t>(line) - 1], HasSubstr(offset));
  }
  EXPECT_THAT(listing.text, HasSubstr("-> 0")) << "jumps name where they go";
  const auto loops = innerLoops(*instructions);
  ASSERT_FALSE(loops.empty());
  for (const auto& [begin, end] : loops) {
    EXPECT_LT(begin, end);
    for (const MachineLine& i : *instructions) {
      if (i.offset >= begin && i.offset + i.size < end) {
        EXPECT_LT(i.target, 0) << "an inner loop holds no other jump";
      }
    }
  }
}

}  // namespace
}  // namespace cubejit
