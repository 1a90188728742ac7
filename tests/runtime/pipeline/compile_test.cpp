// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are all stages kept and do they belong together, is generation the same every time, is the other ISA generated too?
#include "runtime/pipeline/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "algorithms/lower.h"
#include "codegen/backend.h"
#include "runtime/loader/load_programs.h"
#include "tests/support/operands.h"
#include "tests/support/plan_fields.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

class Compile : public ::testing::TestWithParam<IsaLevel> {
 protected:
  static Result<std::shared_ptr<Executable>> compile(const Problem& p, BackendKind backend = BackendKind::kXbyak) {
    Options options;
    options.backend = backend;
    return compileExecutable(CompileRequest{p, kAllGradients, {}}, detectHost(GetParam()), options);
  }
};

TEST_P(Compile, KeepsEveryStage) {
  const Problem p = squareProblem(2, 16, 24, 9);
  const auto compiled = compile(p);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const Executable::State& state = compiled.value()->state();
  ASSERT_EQ(state.parts.size(), 3U);
  const Pass order[] = {Pass::kDx, Pass::kDw, Pass::kDb};
  for (std::size_t i = 0; i < 3; ++i) {
    const CompiledPass& part = *state.parts[i];
    EXPECT_EQ(part.plan.pass, order[i]);
    EXPECT_EQ(part.tile, lower(p, part.plan, detectHost(GetParam())).value());
    ASSERT_EQ(part.vectors.size(), part.tile.kernels.size());
    ASSERT_EQ(part.codes.size(), part.tile.kernels.size());
    for (std::size_t k = 0; k < part.vectors.size(); ++k) {
      EXPECT_EQ(part.vectors[k].isa.level, GetParam());
      EXPECT_EQ(part.codes[k].bytes, emitXbyak(part.vectors[k]).value().bytes);
    }
  }
  EXPECT_GT(state.times.planNs, 0);
  EXPECT_GT(state.times.generateNs, 0);
}

// Plans of others may unroll as far as their fields allow: what they would generate is counted before it is made.
TEST_P(Compile, RefusesPlansThatTakeTooMuchCode) {
  const Problem p = squareProblem(2, 512, 24, 9);
  const auto with = [&](std::int64_t budget, const TilingPlan& plan) {
    Options options;
    options.codeBudget = budget;
    return compileExecutable(CompileRequest{p, {true, false, false}, {plan}}, detectHost(GetParam()), options);
  };
  const auto usual = compile(p);
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  TilingPlan plan = usual.value()->plan(Pass::kDx);
  EXPECT_TRUE(with(Options{}.codeBudget, plan).ok());
  const auto refused = with(1000, plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(refused.error().message.find("Options::codeBudget allows 1000"), std::string::npos)
      << refused.error().message;
  plan = cubejit::with(defaultPlan("direct", Pass::kDx), "unroll", 512);
  const auto unrolled = with(8000, plan);
  ASSERT_FALSE(unrolled.ok());
  EXPECT_EQ(unrolled.error().code, ErrorCode::kLimitExceeded) << unrolled.error().message;
}

// Results past the caches where they lie at a vector's alignment, the ordinary way elsewhere: the same bits, and nothing faults.
TEST_P(Compile, StreamingStoresDependOnWhereResultsLie) {
  Machine machine = detectHost(GetParam());
  machine.buffers.l1Bytes = 4096;  // smaller than dx
  const std::vector<IsaLevel> runnable = runnableIsas();
  if (std::find(runnable.begin(), runnable.end(), GetParam()) == runnable.end()) GTEST_SKIP() << "nothing runs here";
  Problem p = squareProblem(2, 32, 24, 9);
  p.layout = Layout::kNdhwc;
  TilingPlan plan = with(defaultPlan("direct", Pass::kDx), "register_w", 3);
  const PassMask dxOnly{true, false, false};
  const auto usual = compileExecutable(CompileRequest{p, dxOnly, {plan}}, machine, {});
  plan = with(plan, "streaming_store", 1);
  const auto streaming = compileExecutable(CompileRequest{p, dxOnly, {plan}}, machine, {});
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  ASSERT_TRUE(streaming.ok()) << streaming.error().message;
  const TileProgram& tile = streaming.value()->state().parts.front()->tile;
  EXPECT_TRUE(std::any_of(tile.kernels.begin(), tile.kernels.end(), [](const Kernel& k) {
    return std::holds_alternative<Contract>(k) && std::get<Contract>(k).streamingStore;
  }));
  Operands a(p);
  ASSERT_TRUE(a.run(**usual, 2).ok());
  for (const std::size_t shift : {0, 1, 8, 15}) {
    std::vector<float> room(a.dx.size() + 64, -1);
    auto* aligned = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(room.data()) + 63) / 64 * 64);
    Operands b(p);
    Tensors tensors = b.tensors();
    tensors.dx = aligned + shift;
    std::vector<float> workspace(streaming.value()->workspaceBytes(2) / 4 + 32);
    auto* space = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64);
    ASSERT_TRUE(streaming.value()->run(tensors, space, streaming.value()->workspaceBytes(2), 2).ok());
    EXPECT_EQ(std::vector<float>(aligned + shift, aligned + shift + a.dx.size()), a.dx) << shift;
  }
}

TEST_P(Compile, EqualKernelsOfAGradientAreEmittedOnce) {
  const auto compiled = compile(squareProblem(2, 48, 80, 13));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  for (const auto& part : compiled.value()->state().parts) {
    for (std::size_t i = 0; i < part->tile.kernels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(part->tile.kernels[i] == part->tile.kernels[j]) << i << " " << j;
    }
  }
}

TEST_P(Compile, GivesTheSameBytesEveryTime) {
  const Problem p = squareProblem(1, 12, 20, 11);
  const auto first = compile(p), second = compile(p);
  ASSERT_TRUE(first.ok() && second.ok());
  const std::vector<KernelView> a = first.value()->kernels(), b = second.value()->kernels();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].bytes, b[i].bytes) << a[i].name;
    EXPECT_EQ(a[i].name, b[i].name);
  }
}

TEST_P(Compile, InterpretersNeedNoCode) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    const auto compiled = compile(squareProblem(1, 3, 5, 6), backend);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_EQ(compiled.value()->state().code.bytes(), 0U);
    Operands operands(compiled.value()->problem());
    EXPECT_TRUE(operands.run(*compiled.value(), 2).ok());
  }
}

TEST_P(Compile, AProblemThatBreaksRulesStopsAtTheFirstStage) {
  Problem p = squareProblem(1, 3, 5, 6);
  p.stride.w = 0;
  const auto compiled = compile(p);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::kInvalidProblem);
  EXPECT_EQ(compiled.error().stage, Stage::kProblem);
}

// A program that reads beyond its panel: every kernel of it is sound, so that only the verifier of the stage can tell.
TEST(CompileProgram, ABrokenProgramIsRefusedIfProgramsAreVerified) {
  const Machine machine = detectHost(IsaLevel::kAvx2);
  TileProgram broken = smallTileProgram();
  broken.phases[1].streams[0].offset += 8 * 32;
  Options options;
  options.backend = BackendKind::kTileInterpreter;
  LoadedCode code;
  options.verify = false;
  EXPECT_TRUE(compileProgram(broken, machine, options, code).ok());
  options.verify = true;
  EXPECT_TRUE(compileProgram(smallTileProgram(), machine, options, code).ok());
  const auto refused = compileProgram(broken, machine, options, code);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
  EXPECT_EQ(refused.error().stage, Stage::kTile);
  EXPECT_NE(refused.error().message.find("panel"), std::string::npos) << refused.error().message;
}

TEST_P(Compile, VerifiedProgramsAreTheSame) {
  const Problem p = squareProblem(2, 16, 24, 9);
  Options options;
  std::vector<std::vector<TileProgram>> made;
  for (const bool verify : {false, true}) {
    options.verify = verify;
    const auto compiled = generateExecutable(CompileRequest{p, kAllGradients, {}}, detectHost(GetParam()), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    made.emplace_back();
    for (const auto& part : (*compiled)->state().parts) made.back().push_back(part->tile);
  }
  EXPECT_EQ(made.front(), made.back());
}

INSTANTIATE_TEST_SUITE_P(Isa, Compile, ::testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512),
                         [](const auto& isa) { return toString(isa.param); });

}  // namespace
}  // namespace cubejit
