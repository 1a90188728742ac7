// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which texts of the pipeline are pinned: for tiny problems with fixed plans of every algorithm problem, plan and tile program, which
// a person reads in a diff; of three the rest, to disassembly. Of what nobody reads a digest is pinned.
// Leaves whether a stage is right to the other tests; a change here says that output changed, and at which stage first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/kit/lower/tensor_binding.h"
#include "algorithms/lower.h"
#include "codegen/backend.h"
#include "codegen/disassemble.h"
#include "codegen/llvm_backend/emit.h"
#include "codegen/tile/interpret_program.h"
#include "codegen/tile/print.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "codegen/vectorize.h"
#include "runtime/text/json_problem.h"
#include "runtime/tuning/digest.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::kAvx2, IsaLevel::kAvx512};
// Whose text is pinned: the tile program of one level, and where a case shows code, all of the other.
constexpr IsaLevel kTileLevel = IsaLevel::kAvx2, kCodeLevel = IsaLevel::kAvx512;

struct Case {
  std::string name;
  Problem problem;
  TilingPlan plan;
  bool showsCode = false;
};

struct StageText {
  std::string name, body;
  bool shown = true;  ///< else its digest is
};
using Stages = std::vector<StageText>;

Problem tiny(std::int64_t channelsIn, std::int64_t channelsOut, Layout layout) {
  return inLayout(layout, planeProblem(1, channelsIn, channelsOut, {1, 4, 5}, {1, 3, 3}, {0, 1, 1}));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  Case channels{"dx_direct_padded", tiny(20, 6, Layout::kNdhwc), defaultPlan("direct", Pass::kDx)};
  setField(channels.plan, "register_w", 3);
  all.push_back(channels);

  Case shared{"dx_direct_broadcast_reuse", tiny(2, 3, Layout::kNdhwc), defaultPlan("direct", Pass::kDx)};
  shared.problem.kernel = Dhw{1, 1, 3};
  shared.problem.padBefore = shared.problem.padAfter = Dhw{0, 0, 1};
  setField(shared.plan, "register_w", 5);
  setField(shared.plan, "broadcast_taps", 3);
  setField(shared.plan, "unroll", 1);
  shared.showsCode = true;
  all.push_back(shared);

  Case pixels{"dx_spatial_strided", tiny(3, 8, Layout::kNcdhw), defaultPlan("spatial", Pass::kDx)};
  pixels.problem.in = Dhw{1, 4, 18};
  pixels.problem.out = Dhw{1, 2, 9};
  pixels.problem.stride = Dhw{1, 2, 2};
  setField(pixels.plan, "register_channels", 3);
  setField(pixels.plan, "pack_a", 1);
  setField(pixels.plan, "buffer_c", 1);
  all.push_back(pixels);

  Case inputs{"dx_direct_input_channels", tiny(3, 18, Layout::kNdhwc),
              with(defaultPlan("direct", Pass::kDx), "vectorize", "input_channels")};
  setField(inputs.plan, "register_w", 2);
  setField(inputs.plan, "unroll", 2);
  setField(inputs.plan, "buffer_c", 1);
  all.push_back(inputs);

  Case transposed{"dx_transposed_convolution", tiny(18, 5, Layout::kNdhwc), defaultPlan("direct", Pass::kDx)};
  transposed.problem.transposed = true;
  transposed.problem.in = Dhw{1, 1, 3};
  transposed.problem.kernel = Dhw{1, 1, 3};
  transposed.problem.stride = Dhw{1, 1, 2};
  transposed.problem.padBefore = transposed.problem.padAfter = Dhw{0, 0, 1};
  transposed.problem.out = Dhw{1, 1, 6};
  setField(transposed.plan, "register_w", 2);
  setField(transposed.plan, "cache_h", 2);
  all.push_back(transposed);

  Case operands{"dw_transposed_operands", tiny(3, 18, Layout::kNdhwc),
                with(defaultPlan("direct", Pass::kDw), "vectorize", "transposed")};
  setField(operands.plan, "register_rows", 3);
  setField(operands.plan, "register_taps", 3);
  all.push_back(operands);

  Case taps{"dw_direct_kernel_width", tiny(2, 3, Layout::kNdhwc),
            with(defaultPlan("direct", Pass::kDw), "vectorize", "kernel_width")};
  taps.problem.kernel = Dhw{1, 1, 3};
  taps.problem.padBefore = taps.problem.padAfter = Dhw{0, 0, 1};
  setField(taps.plan, "register_rows", 3);
  all.push_back(taps);

  Case grouped{"dw_grouped_depthwise", tiny(20, 20, Layout::kNdhwc), defaultPlan("grouped", Pass::kDw)};
  grouped.problem.groups = 20;
  grouped.problem.kernel = Dhw{1, 1, 3};
  grouped.problem.padBefore = grouped.problem.padAfter = Dhw{0, 0, 1};
  setField(grouped.plan, "register_taps_w", 3);
  grouped.showsCode = true;
  all.push_back(grouped);

  Case spatial{"dw_spatial", tiny(1, 1, Layout::kNcdhw), defaultPlan("spatial", Pass::kDw)};
  setField(spatial.plan, "register_taps_w", 3);
  all.push_back(spatial);

  Case depthwise{"dx_grouped_depthwise", tiny(8, 8, Layout::kNdhwc), defaultPlan("grouped", Pass::kDx)};
  depthwise.problem.groups = 8;
  depthwise.problem.kernel = Dhw{1, 1, 3};
  depthwise.problem.padBefore = depthwise.problem.padAfter = Dhw{0, 0, 1};
  setField(depthwise.plan, "register_w", 2);
  all.push_back(depthwise);

  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    Case tiles{std::string(toString(pass)) + "_winograd", tiny(3, 2, Layout::kNdhwc), defaultPlan("winograd", pass)};
    tiles.problem.math = MathMode::kRelaxed;
    setField(tiles.plan, "tile_h", 2);
    setField(tiles.plan, "tile_w", 2);
    all.push_back(tiles);
  }

  all.push_back(Case{"db_plain", tiny(3, 5, Layout::kNcdhw), defaultPlan("bias", Pass::kDb), true});
  return all;
}

template <class T>
bool expectOk(const Result<T>& result, const std::string& stage) {
  if (!result.ok()) ADD_FAILURE() << stage << ": " << result.error().message;
  return result.ok();
}

// All of the first kernel that multiplies, and what it becomes; of the others the code.
void appendKernelStages(const TileProgram& program, const HostIsa& isa, bool shown, Stages& stages) {
  const std::string name = toString(isa.level);
  bool contractSeen = false;
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const bool first = !contractSeen && std::holds_alternative<Contract>(program.kernels[i]);
    contractSeen |= first;
    const std::string number = " " + std::to_string(i);
    const auto vector = vectorize(program.kernels[i], isa);
    if (!expectOk(vector, name + " vectorize")) return;
    const auto legal = legalize(*vector);
    if (!expectOk(legal, name + " legalize")) return;
    stages.push_back({name + " vector" + number, print(*legal), shown && first});
    const auto code = emitXbyak(*legal);
    if (!expectOk(code, name + " emit")) return;
    const auto listing = disassemble(*code, nullptr);
    if (!expectOk(listing, name + " disassemble")) return;
    if (first) {
      const auto ir = llvmText(*legal, IrStage::kBuilt);
      if (!expectOk(ir, name + " ll")) return;
      stages.push_back({name + " ll" + number, *ir, false});
    }
    stages.push_back({name + " assembly" + number, *listing, shown && first});
  }
}

Stages stagesOf(const Case& c) {
  Stages stages{{"problem", problemToJson(c.problem)}, {"plan", planToJson(c.plan)}};
  expectOk(checkProblem(c.problem), c.name);
  for (const IsaLevel level : kLevels) {
    const Machine machine = hostOf(level);
    for (const std::string& rule : checkPlan(c.problem, c.plan, machine)) ADD_FAILURE() << c.name << ": " << rule;
    const auto program = lower(c.problem, c.plan, machine);
    if (!expectOk(program, "lower")) return stages;
    stages.push_back({std::string(toString(level)) + " tile", print(*program, Detail::kFull), level == kTileLevel});
    appendKernelStages(*program, machine.isa, c.showsCode && level == kCodeLevel, stages);
  }
  return stages;
}

std::string textOf(const Stages& stages) {
  std::string text;
  for (const auto& [name, body, shown] : stages) {
    Digest digest;
    digest.add(body.data(), body.size());
    text += shown ? "== " + name + " ==\n" + body + (body.empty() || body.back() != '\n' ? "\n" : "")
                  : "== " + name + " == " + digest.text() + "\n";
  }
  return text;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first differing lines, below the stage they belong to.
std::string firstDifference(const std::string& want, const std::string& got) {
  const std::vector<std::string> a = linesOf(want), b = linesOf(got);
  std::string stage = "== none ==";
  std::size_t i = 0;
  for (; i < a.size() && i < b.size() && a[i] == b[i]; ++i) {
    if (a[i].rfind("== ", 0) == 0) stage = a[i];
  }
  constexpr std::size_t kShown = 5;
  std::string text = stage + " line " + std::to_string(i + 1) + "\n";
  for (std::size_t n = i; n < i + kShown && n < a.size(); ++n) text += "- " + a[n] + "\n";
  for (std::size_t n = i; n < i + kShown && n < b.size(); ++n) text += "+ " + b[n] + "\n";
  return text;
}

std::string pathOf(const std::string& name) {
  return std::string(CUBEJIT_SOURCE_DIR "/tests/golden/cases/") + name + ".golden";
}

std::string textIn(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Golden, EveryStageIsAsPinned) {
  const bool bless = std::getenv("CUBEJIT_BLESS") != nullptr;
  const std::vector<Case> all = cases();
  ASSERT_FALSE(all.empty());
  std::set<std::string> names;
  for (const Case& c : all) {
    ASSERT_TRUE(names.insert(c.name).second) << "two cases are called " << c.name;
    const std::string got = textOf(stagesOf(c));
    EXPECT_LT(got.size(), 200U << 10) << c.name << " is too long to be read";
    if (bless) {
      std::ofstream(pathOf(c.name), std::ios::binary) << got;
      continue;
    }
    const std::string want = textIn(pathOf(c.name));
    EXPECT_FALSE(want.empty()) << pathOf(c.name) << " is missing; write it with: CUBEJIT_BLESS=1 ctest -R golden";
    if (want.empty()) continue;
    EXPECT_TRUE(want == got) << c.name << ": " << firstDifference(want, got)
                             << "if the change is meant: CUBEJIT_BLESS=1 ctest -R golden, and read the diff";
  }
}

// An algorithm without a golden has nothing that says when what it makes changes.
TEST(Golden, EveryAlgorithmHasOne) {
  for (const Algorithm* algorithm : algorithms()) {
    bool tile = false, code = false;
    for (const Case& c : cases()) {
      if (!algorithm->owns(c.plan)) continue;
      for (const std::string& line : linesOf(textIn(pathOf(c.name)))) {
        tile |= line == "== avx2 tile ==";
        code |= line.rfind("== avx512 assembly 0 ==", 0) == 0;
      }
    }
    EXPECT_TRUE(tile && code) << "no case of " << algorithm->name << " of " << toString(algorithm->pass)
                              << " pins a tile program and code";
  }
}

// A wrong program must not be pinned.
TEST(Golden, PinnedPlansComputeTheReference) {
  std::mt19937_64 random(3);
  for (const Case& c : cases()) {
    const Problem& p = c.problem;
    const std::vector<float> dy = randomIntegers(random, yElements(p), 1000),
                             x = randomIntegers(random, xElements(p), 1000),
                             w = randomIntegers(random, wElements(p), 1000);
    const ReferenceResults want = referenceResults(p, PassMask{true, true, true}, dy, x, w);
    const Pass g = c.plan.pass;
    const std::vector<double>& right = g == Pass::kDx ? want.dx : g == Pass::kDw ? want.dw : want.db;
    for (const IsaLevel level : kLevels) {
      const auto program = lower(p, c.plan, hostOf(level));
      ASSERT_TRUE(program.ok()) << c.name;
      std::vector<float> got(right.size(), -77.0F);
      Tensors tensors{dy.data(), x.data(), w.data(), nullptr, nullptr, nullptr};
      (g == Pass::kDx ? tensors.dx : g == Pass::kDw ? tensors.dw : tensors.db) = got.data();
      const Status status = interpret(*program, TensorBinding(*program).bind(tensors));
      ASSERT_TRUE(status.ok()) << c.name << ": " << status.error().message;
      EXPECT_EQ(std::vector<double>(got.begin(), got.end()), right) << c.name;
    }
  }
}

TEST(Golden, DifferencesNameTheirStage) {
  const std::string want = textOf({{"plan", "a"}, {"tile", "b\nc"}}), got = textOf({{"plan", "a"}, {"tile", "b\nd"}});
  EXPECT_EQ(firstDifference(want, got), "== tile == line 5\n- c\n+ d\n");
  const std::string hidden = textOf({{"code", "x", false}}), other = textOf({{"code", "y", false}});
  EXPECT_THAT(firstDifference(hidden, other), testing::HasSubstr("- == code == "));
}

}  // namespace
}  // namespace cubejit
